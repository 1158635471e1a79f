/** The tools of a pool, as they are registered. */
import type { ToolDefinition } from '@interlock/contracts';
import { hashOf } from '@interlock/kit/pure';
import { definitionOf, type Tool } from './tools/tool.ts';

export interface PoolTool {
  readonly tool: Tool;
  readonly definition: ToolDefinition;
  /** SHA-256 of the canonical definition: what a permit names. */
  readonly digest: string;
}

export type ToolTable = ReadonlyMap<string, PoolTool>;

export function toolTable(pool: string, tools: readonly Tool[]): ToolTable {
  return new Map(
    tools.map((tool) => {
      const definition = definitionOf(tool, pool);
      return [tool.name, { tool, definition, digest: hashOf(definition) }];
    }),
  );
}

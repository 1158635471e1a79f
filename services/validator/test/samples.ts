/** Tools and what a pool says, as short as their contracts allow. */
import type { Assessment, PreflightReplyV1, ToolDefinition } from '@interlock/contracts';
import { hashOf } from '@interlock/kit/pure';

export const WORKSPACE = '/home/dev/app';

const base: ToolDefinition = {
  name: 'read_file',
  version: '1',
  description: 'Reads a file.',
  pool: 'fs',
  inputSchema: {
    type: 'object',
    properties: { path: { type: 'string', minLength: 1 }, limit: { type: 'integer', minimum: 1 } },
    required: ['path'],
    additionalProperties: false,
  },
  readOnly: true,
  visibleIn: ['normal', 'read-only', 'auto-edit', 'replay'],
  needsBaseline: false,
  budgets: { timeoutMs: 10_000, outputBytes: 32_768 },
  resumePolicy: 'rerun-safe',
};
export const readFile = base;
export const writeFile: ToolDefinition = {
  ...base,
  name: 'write_file',
  inputSchema: {
    type: 'object',
    properties: { path: { type: 'string' }, content: { type: 'string' } },
    required: ['path', 'content'],
    additionalProperties: false,
  },
  readOnly: false,
  visibleIn: ['normal', 'auto-edit', 'replay'],
  needsBaseline: true,
};
/** Registered, and shown in no session of these tests. */
export const secretTool: ToolDefinition = { ...base, name: 'secret_tool' };

export const digestOf = (definition: ToolDefinition): string => hashOf(definition);

export const assessment: Assessment = {
  effects: ['read-only'],
  paths: [],
  hosts: [],
  commands: [],
  confidence: 'certain',
  summary: 'reads',
};

/** The pool accepts the input as it is. */
export function accepted(input: unknown): PreflightReplyV1 {
  return {
    ok: true,
    errors: [],
    accepted: { input, changes: [], assessment, baselines: [], sandboxLevel: 'A' },
  };
}

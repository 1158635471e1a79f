/** A definition, a validated call, facts: as short as their contracts allow. */
import type {
  Assessment,
  Effect,
  EvaluateRequestV1,
  ToolDefinition,
  ToolValidatedV1,
} from '@interlock/contracts';
import { hashOf } from '@interlock/kit/pure';

export const WORKSPACE = '/home/dev/app';

export const bash: ToolDefinition = {
  name: 'bash',
  version: '1',
  description: 'Runs a command.',
  pool: 'shell',
  inputSchema: { type: 'object' },
  readOnly: false,
  visibleIn: ['normal', 'auto-edit', 'replay'],
  needsBaseline: false,
  budgets: { timeoutMs: 60_000, outputBytes: 32_768 },
  resumePolicy: 'never-rerun',
};
export const editFile: ToolDefinition = {
  ...bash,
  name: 'edit_file',
  pool: 'fs',
  needsBaseline: true,
  resumePolicy: 'probe',
};

export const digestOf = (definition: ToolDefinition): string => hashOf(definition);

function assessment(...effects: Effect[]): Assessment {
  const [first = 'read-only', ...rest] = effects;
  return {
    effects: [first, ...rest],
    paths: [],
    hosts: [],
    commands: [],
    confidence: 'certain',
    summary: 'does something',
  };
}

/** A validated command of these effects; each of its parts is one command. */
export function command(
  line: string,
  effects: Effect[],
  more: Partial<ToolValidatedV1> = {},
): ToolValidatedV1 {
  const parts = line.split(/&&|;|\|/).map((text) => text.trim());
  const input = { command: line };
  return {
    tool: 'bash',
    pool: 'shell',
    toolDigest: digestOf(bash),
    input,
    inputSha256: hashOf(input),
    changes: [],
    assessment: {
      ...assessment(...effects),
      summary: `runs ${parts[0]?.split(' ')[0]}`,
      commands: parts.map((text) => ({ text, program: text.split(' ')[0] ?? '', effects })),
    },
    baselines: [],
    sandboxLevel: 'A',
    ...more,
  };
}

/** A validated edit of one file of the workspace. */
export function edit(path: string, sha256: string = 'a'.repeat(64)): ToolValidatedV1 {
  const real = `${WORKSPACE}/${path}`;
  const input = { path, oldText: 'a', newText: 'b' };
  return {
    tool: 'edit_file',
    pool: 'fs',
    toolDigest: digestOf(editFile),
    input,
    inputSha256: hashOf(input),
    changes: [],
    assessment: {
      ...assessment('writes-workspace'),
      paths: [{ path, real, access: 'write', inside: true }],
      preview: '--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n',
    },
    baselines: [{ path: real, sha256 }],
    sandboxLevel: 'A',
  };
}

export function facts(call: ToolValidatedV1, more: Partial<EvaluateRequestV1> = {}): EvaluateRequestV1 {
  return {
    tenant: 'local',
    session: 's1',
    intent: 'i1',
    person: 'ada',
    mode: 'normal',
    model: 'script',
    tool: call.tool,
    readOnly: false,
    input: call.input,
    inputSha256: call.inputSha256,
    workspace: WORKSPACE,
    assessment: call.assessment,
    sandboxLevel: call.sandboxLevel,
    ...more,
  };
}

/** `read_artifact`: lines of bytes that an earlier fact refers to. */
import { sha256OfArtifactUri } from '@interlock/contracts';
import { z } from 'zod';
import { sanitize } from '../output/sanitize.ts';
import { compile } from '../search/search.ts';
import { decodeText, splitLines } from '../workspace/text.ts';
import { linesOutput } from './list-dir.ts';
import { reject } from './rejection.ts';
import { searchResult } from './search-output.ts';
import {
  defineTool,
  type ExecutionContext,
  failure,
  NO_EFFECTS,
  type Preflight,
  type PreflightContext,
  type Tool,
  type ToolResult,
} from './tool.ts';

const DEFAULT_LINES = 500;
const MAX_LINE_CHARS = 2000;

const input = z.strictObject({
  uri: z
    .string()
    .regex(/^artifact:\/\/[0-9a-f]{64}$/)
    .describe('Address that an observation named.'),
  offset: z.int().min(1).optional().describe('First line, from 1. Default 1.'),
  limit: z
    .int()
    .min(1)
    .max(100_000)
    .optional()
    .describe(`Lines, or hits of pattern. Default ${DEFAULT_LINES}.`),
  pattern: z
    .string()
    .min(1)
    .max(2000)
    .optional()
    .describe('Show only lines that match this regular expression.'),
});
type ArtifactInput = z.infer<typeof input>;

export const readArtifact: Tool = defineTool<ArtifactInput>({
  name: 'read_artifact',
  version: '1',
  description:
    'Reads lines of an artifact, such as the full output of an earlier call whose observation was cut.',
  input,
  readOnly: true,
  visibleIn: ['normal', 'read-only', 'auto-edit', 'replay'],
  needsBaseline: false,
  budgets: { timeoutMs: 30_000, outputBytes: 30_000 },
  resumePolicy: 'rerun-safe',
  preflight,
  execute,
});

async function preflight(call: ArtifactInput, context: PreflightContext): Promise<Preflight<ArtifactInput>> {
  if (call.pattern !== undefined) {
    try {
      compile(call.pattern, false);
    } catch (error) {
      return reject(
        'invalid_pattern',
        '/pattern',
        error instanceof Error ? error.message : 'it does not compile',
      );
    }
  }
  if ((await context.readArtifact(call.uri)) === null)
    return reject('artifact_not_found', '/uri', `there is no ${call.uri}`);
  return {
    ok: true,
    input: call,
    changes: [],
    assessment: {
      effects: ['read-only'],
      paths: [],
      hosts: [],
      commands: [],
      confidence: 'certain',
      summary: `read artifact ${sha256OfArtifactUri(call.uri).slice(0, 12)}`,
    },
    baselines: [],
  };
}

async function execute(call: ArtifactInput, context: ExecutionContext): Promise<ToolResult> {
  const bytes = await context.readArtifact(call.uri);
  if (bytes === null) return failure(`there is no ${call.uri}`);
  const decoded = decodeText(bytes);
  // Output of programs may hold NUL bytes; what can be shown of it is shown.
  const text =
    decoded.kind === 'text' ? decoded.text : Buffer.from(bytes).toString('utf8').replaceAll('\0', '\ufffd');
  const { pattern, limit = DEFAULT_LINES, offset = 1 } = call;
  if (pattern !== undefined) {
    const maxBytes = context.budgets.outputBytes;
    return searchResult({ kind: 'text', text, pattern, limit, maxBytes }, context.signal, 'hits');
  }
  const lines = splitLines(sanitize(text));
  const wanted = lines.slice(offset - 1, offset - 1 + limit);
  const shown = wanted.map(clipped);
  const note = `lines ${offset} to ${offset - 1 + wanted.length} of ${lines.length}`;
  const output = linesOutput(shown, shown.length, context.budgets.outputBytes);
  return {
    outcome: 'success',
    output: [...output, { channel: 'note', text: note, omittedBytes: 0 }],
    effects: NO_EFFECTS,
  };
}

function clipped(line: string): string {
  if (line.length <= MAX_LINE_CHARS) return line;
  return `${line.slice(0, MAX_LINE_CHARS).toWellFormed()}… [line of ${line.length} characters]`;
}

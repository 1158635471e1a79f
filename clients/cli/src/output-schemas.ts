/**
 * What each command prints with `--json`, as JSON Lines: every line fits the schema of its command. Unknown keys are
 * allowed: a later version may add some. Published as JSON Schema in `clients/cli/schemas/`.
 */
import { RPCS } from '@interlock/contracts';
import { z } from 'zod';
import { runResultSchema } from './run-result.ts';
import { SETTING_NAMES } from './settings.ts';

/** Any command that cannot go on prints this as its last line. */
const errorLineSchema = z
  .looseObject({ type: z.literal('error'), code: z.string(), message: z.string() })
  .meta({ description: 'A command that cannot go on: the code is of docs/errors.md.' });

/** A stored event: the envelope as it stands in the stream, and its sequence there. */
const eventLineSchema = z
  .looseObject({
    seq: z.int().positive().meta({ description: 'Stream sequence; not part of the stored envelope.' }),
    type: z.string(),
    subject: z.string(),
    specversion: z.literal('1.0').optional(),
    id: z.string().optional(),
    source: z.string().optional(),
    time: z.string().optional(),
    dataschema: z.string().optional(),
    tenant: z.string().optional(),
    session: z.string().optional(),
    run: z.string().optional(),
    turn: z.int().positive().optional(),
    intent: z.string().optional(),
    correlationid: z.string().optional(),
    causationid: z.string().optional(),
    prevseq: z.int().nonnegative().optional(),
    prevhash: z.string().optional(),
    nonce: z.string().optional(),
    keyid: z.string().optional(),
    signature: z.string().optional(),
    data: z.unknown(),
  })
  .meta({
    description:
      'A stored event. One that is no JSON object has type "unreadable", its subject, and its bytes as `base64`.',
  });

const upLineSchema = z.looseObject({
  service: z.string(),
  pid: z.int().positive(),
  health: z.url().meta({ description: 'Base of /livez, /readyz and /metrics.' }),
});

const stateLineSchema = z
  .looseObject({
    tenant: z.string(),
    session: z.string(),
    throughSeq: z.int().nonnegative(),
    status: z.enum(['idle', 'running', 'waiting_for_tool', 'waiting_for_approval', 'completed', 'failed']),
    closed: z.boolean(),
    opened: z.looseObject({}).nullable(),
    run: z.looseObject({ id: z.string(), turn: z.int().nonnegative() }).nullable(),
    lastRun: z.looseObject({ id: z.string(), reason: z.string() }).nullable(),
    entries: z.array(z.looseObject({ kind: z.string(), seq: z.int().nonnegative() })),
    pending: z.array(z.looseObject({})),
    calls: z.record(z.string(), z.looseObject({ intent: z.string(), tool: z.string(), stage: z.string() })),
    usage: z.looseObject({}),
    costUsd: z.number().nullable(),
  })
  .meta({ description: 'The fold of the session, byte for byte the same for the same log.' });

const answerLineSchema = z.looseObject({
  intent: z.string(),
  session: z.string(),
  verdict: z.enum(['approve', 'reject', 'edit']),
});

const settingLineSchema = z.looseObject({
  type: z.literal('setting'),
  name: z.enum(SETTING_NAMES),
  value: z.string(),
  source: z.enum(['flag', 'environment', 'project', 'user', 'default']),
  variable: z.string(),
});

const checkLineSchema = z.looseObject({
  type: z.literal('check'),
  name: z.string(),
  state: z.enum(['ok', 'note', 'fault']),
  message: z.string(),
});

const sessionLineSchema = RPCS['query.sessions'].reply.options[0].shape.sessions.element;
const approvalLineSchema = RPCS['query.approvals'].reply.options[0].shape.approvals.element;

const runLine = z.union([runResultSchema, errorLineSchema, eventLineSchema]);
const orError = (line: z.ZodType): z.ZodType => z.union([errorLineSchema, line]);

/** By command; the file of a command of two words has a hyphen. */
export const OUTPUT_SCHEMAS: Readonly<Record<string, z.ZodType>> = {
  up: orError(upLineSchema),
  run: runLine,
  attach: runLine,
  demo: runLine,
  ls: orError(sessionLineSchema),
  show: orError(stateLineSchema),
  events: z.union([errorLineSchema, eventLineSchema]),
  'approvals-ls': orError(approvalLineSchema),
  'approvals-show': orError(approvalLineSchema),
  'approvals-approve': orError(answerLineSchema),
  'approvals-deny': orError(answerLineSchema),
  'approvals-edit': orError(answerLineSchema),
  doctor: z.union([errorLineSchema, settingLineSchema, checkLineSchema]),
};

/** File name and text of every schema. */
export function schemaFiles(): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(OUTPUT_SCHEMAS).map(([command, schema]) => {
      const json = z.toJSONSchema(schema, { target: 'draft-2020-12', io: 'input' });
      const { $schema, ...rest } = json;
      const title = `One line of: interlock ${command.replace('-', ' ')} --json`;
      const whole = { $schema, $id: `urn:interlock:cli:${command}`, title, ...rest };
      return [`${command}.json`, `${JSON.stringify(whole, null, 2)}\n`];
    }),
  );
}

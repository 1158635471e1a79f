/** Requests and replies on core NATS. Like events they have schemas and versions; an error is a reply, never silence. */
import { z } from 'zod';
import { decisionSchema, matchSchema } from '../approval/v1.ts';
import { ERROR_CODES, type ErrorCode } from '../errors.ts';
import { instantSchema, sha256Schema, tokenSchema } from '../ids.ts';
import { validationErrorSchema } from '../intent/v1.ts';
import { modeSchema } from '../session/v1.ts';
import { assessmentSchema, baselineSchema, sandboxLevelSchema, toolDefinitionSchema } from '../tools/v1.ts';

export const rpcErrorSchema = z.object({
  ok: z.literal(false),
  code: z.enum(ERROR_CODES as [ErrorCode, ...ErrorCode[]]),
  message: z.string(),
});
export type RpcError = z.infer<typeof rpcErrorSchema>;

/** `rpc.v1.<tenant>.preflight.<pool>`: the host that would run the call looks at the real files. Nothing changes. */
export const preflightRequestV1 = z.object({
  session: tokenSchema,
  intent: tokenSchema,
  tool: tokenSchema,
  toolDigest: sha256Schema,
  input: z.unknown(),
  workspace: z.string(),
  mode: modeSchema,
  /** Files shown in the session so far: path and the hash that was shown. */
  reads: z.array(baselineSchema),
});
export type PreflightRequestV1 = z.infer<typeof preflightRequestV1>;

export const preflightReplyV1 = z.union([
  z.object({
    ok: z.literal(true),
    errors: z.array(validationErrorSchema),
    /** Absent when `errors` is not empty. */
    accepted: z
      .object({
        input: z.unknown(),
        changes: z.array(z.object({ path: z.string(), why: z.string() })),
        assessment: assessmentSchema,
        baselines: z.array(baselineSchema),
        sandboxLevel: sandboxLevelSchema,
      })
      .optional(),
  }),
  rpcErrorSchema,
]);
export type PreflightReplyV1 = z.infer<typeof preflightReplyV1>;

/** `rpc.v1.<tenant>.register.<pool>`: an executor offers its tools and the public key of its facts. */
export const registerRequestV1 = z.object({
  pool: tokenSchema,
  instance: tokenSchema,
  tools: z.array(toolDefinitionSchema),
});
export type RegisterRequestV1 = z.infer<typeof registerRequestV1>;

export const registerReplyV1 = z.union([
  z.object({ ok: z.literal(true), digests: z.array(sha256Schema) }),
  rpcErrorSchema,
]);
export type RegisterReplyV1 = z.infer<typeof registerReplyV1>;

/** `rpc.v1.policy.evaluate.<engine>`: one engine's verdict on one validated call. */
export const evaluateRequestV1 = z.object({
  tenant: tokenSchema,
  session: tokenSchema,
  intent: tokenSchema,
  person: z.string(),
  mode: modeSchema,
  model: z.string(),
  tool: tokenSchema,
  readOnly: z.boolean(),
  input: z.unknown(),
  inputSha256: sha256Schema,
  workspace: z.string(),
  assessment: assessmentSchema,
  sandboxLevel: sandboxLevelSchema,
});
export type EvaluateRequestV1 = z.infer<typeof evaluateRequestV1>;

export const evaluateReplyV1 = z.union([
  z.object({
    ok: z.literal(true),
    engine: tokenSchema,
    version: z.string(),
    decision: decisionSchema,
    winner: matchSchema.nullable(),
    matches: z.array(matchSchema),
  }),
  rpcErrorSchema,
]);
export type EvaluateReplyV1 = z.infer<typeof evaluateReplyV1>;

/** `rpc.v1.<tenant>.query.events`: events of a session in stream order, as stored. */
export const eventsQueryV1 = z.object({
  session: tokenSchema,
  /** First sequence wanted. */
  fromSeq: z.int().nonnegative().default(0),
  /** Last sequence wanted. */
  throughSeq: z.int().positive().optional(),
  limit: z.int().positive().max(1000).default(256),
});
/** One stored event: the envelope as it stands in the stream, and its sequence. */
export const queriedEventSchema = z.object({
  seq: z.int().positive(),
  event: z.record(z.string(), z.unknown()),
  /** The stored bytes in base64, where they are not the canonical JSON of `event`: hashes are over the bytes. */
  bytes: z.base64().optional(),
});
export const eventsReplyV1 = z.union([
  z.object({
    ok: z.literal(true),
    events: z.array(queriedEventSchema),
    /** Everything of the session up to here is in this reply and those before it. */
    throughSeq: z.int().nonnegative(),
    more: z.boolean(),
  }),
  rpcErrorSchema,
]);

export const sessionSummarySchema = z.object({
  session: tokenSchema,
  status: z.string(),
  mode: modeSchema,
  model: z.string(),
  workspace: z.string(),
  openedAt: z.string(),
  lastAt: z.string(),
  turns: z.int().nonnegative(),
  runs: z.int().nonnegative(),
  firstMessage: z.string(),
  throughSeq: z.int().nonnegative(),
});
export type SessionSummary = z.infer<typeof sessionSummarySchema>;
/** `rpc.v1.<tenant>.query.sessions`: newest first. */
export const sessionsQueryV1 = z.object({ limit: z.int().positive().max(500).default(50) });
export const sessionsReplyV1 = z.union([
  z.object({ ok: z.literal(true), sessions: z.array(sessionSummarySchema) }),
  rpcErrorSchema,
]);

/** `rpc.v1.<tenant>.query.state`: the folded state of a session at a sequence (default: now). */
export const stateQueryV1 = z.object({ session: tokenSchema, at: z.int().nonnegative().optional() });
export const stateReplyV1 = z.union([
  z.object({
    ok: z.literal(true),
    throughSeq: z.int().nonnegative(),
    state: z.record(z.string(), z.unknown()),
  }),
  rpcErrorSchema,
]);

/** `rpc.v1.<tenant>.query.lane`: the tail of an intent's lane, read at the leader. Executors ask after a conflict. */
export const laneQueryV1 = z.object({ session: tokenSchema, intent: tokenSchema });
export const laneReplyV1 = z.union([
  z.object({
    ok: z.literal(true),
    tail: z.object({ seq: z.int().nonnegative(), hash: sha256Schema }),
    /** The last step that counts: strays left out. */
    step: z
      .object({ seq: z.int().nonnegative(), type: z.string(), id: z.string(), nonce: z.string() })
      .nullable(),
    /** The claim in force, as the fold has it; null when there is none. An executor needs it to judge the lease. */
    claim: z
      .object({
        seq: z.int().positive(),
        worker: z.string(),
        epoch: z.int().positive(),
        leaseUntil: instantSchema,
      })
      .nullable()
      .optional(),
  }),
  rpcErrorSchema,
]);
export type LaneReplyV1 = z.infer<typeof laneReplyV1>;

/** `rpc.v1.<tenant>.query.approvals`: calls that wait for a person. */
export const approvalsQueryV1 = z.object({ session: tokenSchema.optional() });
export const pendingApprovalSchema = z.object({
  session: tokenSchema,
  intent: tokenSchema,
  askedId: z.string(),
  askedSeq: z.int().positive(),
  bindingSha256: sha256Schema,
  tool: z.string(),
  title: z.string(),
  detail: z.string(),
  preview: z.string().optional(),
  effects: z.array(z.string()),
  expiresAt: z.string(),
});
export type PendingApproval = z.infer<typeof pendingApprovalSchema>;
export const approvalsReplyV1 = z.union([
  z.object({ ok: z.literal(true), approvals: z.array(pendingApprovalSchema) }),
  rpcErrorSchema,
]);

/** `rpc.v1.<tenant>.query.registry`: tools in force and executors that are alive. */
export const registryQueryV1 = z.object({});
export const registryReplyV1 = z.union([
  z.object({
    ok: z.literal(true),
    tools: z.array(z.object({ digest: sha256Schema, definition: toolDefinitionSchema })),
    executors: z.array(
      z.object({ pool: tokenSchema, instance: tokenSchema, sandboxLevel: z.string(), since: z.string() }),
    ),
  }),
  rpcErrorSchema,
]);

/** `ctl.v1.<tenant>.<session>.cancel`, to all replicas: stop what runs. Lossy; the sender repeats it until the fact is there. */
export const cancelControlV1 = z.object({
  /** Intents to stop; empty: none. */
  intents: z.array(tokenSchema),
  /** Id of the `model.requested` to stop; absent: none. */
  requestId: z.string().optional(),
  reason: z.string(),
});
export type CancelControlV1 = z.infer<typeof cancelControlV1>;

/** `live.v1.…`: text as it comes. Never the record; may be lost. */
export const liveChunkV1 = z.object({
  kind: z.enum(['text', 'reasoning', 'stdout', 'stderr']),
  /** Attempt for model text, 0 for output. Text of an older attempt is void. */
  attempt: z.int().nonnegative(),
  /** Number of the chunk within its source, from 0. */
  index: z.int().nonnegative(),
  text: z.string(),
});
export type LiveChunkV1 = z.infer<typeof liveChunkV1>;

export const RPCS = {
  preflight: { request: preflightRequestV1, reply: preflightReplyV1 },
  register: { request: registerRequestV1, reply: registerReplyV1 },
  'policy.evaluate': { request: evaluateRequestV1, reply: evaluateReplyV1 },
  'query.events': { request: eventsQueryV1, reply: eventsReplyV1 },
  'query.sessions': { request: sessionsQueryV1, reply: sessionsReplyV1 },
  'query.state': { request: stateQueryV1, reply: stateReplyV1 },
  'query.lane': { request: laneQueryV1, reply: laneReplyV1 },
  'query.approvals': { request: approvalsQueryV1, reply: approvalsReplyV1 },
  'query.registry': { request: registryQueryV1, reply: registryReplyV1 },
} as const;
export type RpcName = keyof typeof RPCS;

/** One-way messages outside the log. */
export const SIGNALS = { 'control.cancel': cancelControlV1, 'live.chunk': liveChunkV1 } as const;

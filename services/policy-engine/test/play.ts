/** A session in the log, played by hand up to `tool.validated`, and people who answer. */
import type {
  Mode,
  PreflightReplyV1,
  StoredEventOf,
  ToolAnswerV1,
  ToolValidatedV1,
} from '@interlock/contracts';
import { appendInbox, putArtifact, sha256Hex } from '@interlock/kit';
import { eventOf, type House, put } from './house.ts';
import { bash, digestOf, editFile, WORKSPACE } from './samples.ts';

const SNAPSHOT = 'c'.repeat(64);
let sessions = 0;

export interface Played {
  readonly session: string;
  readonly intent: string;
}

export interface PlayOptions {
  readonly mode?: Mode;
  readonly session?: string;
  /** Rule files, as text; a digest without bytes where it begins with `sha:`. */
  readonly userPolicy?: string;
  readonly projectPolicy?: string;
  readonly workspace?: string;
}

/** Registers the tools in the house. Once a house. */
export async function registerTools(house: House): Promise<void> {
  const lane = { tenant: '-', session: 'sys', lane: 'sys' } as const;
  for (const definition of [bash, editFile]) {
    const data = { digest: digestOf(definition), definition };
    await put(house, 'event-store', lane, { type: 'tool.registered', data });
  }
}

/** A new session whose model proposed these calls; each is validated. Its intents are `<session>-1`, `-2`, … */
export async function propose(
  house: House,
  calls: readonly ToolValidatedV1[],
  options: PlayOptions = {},
): Promise<Played[]> {
  const session = options.session ?? `s${process.pid}-${++sessions}`;
  const at = { tenant: 'local', session };
  const run = `run-${session}`;
  const client = house.writer('client-ada');
  await appendInbox(house.bus, client, at, {
    type: 'session.opened',
    data: {
      workspace: options.workspace ?? WORKSPACE,
      mode: options.mode ?? 'normal',
      model: { provider: 'scripted', model: 'script' },
      policies: {
        ...(options.userPolicy === undefined ? {} : { user: await store(house, options.userPolicy) }),
        ...(options.projectPolicy === undefined
          ? {}
          : { project: await store(house, options.projectPolicy) }),
      },
      person: 'ada',
    },
  });
  await appendInbox(house.bus, client, at, { type: 'user.message', data: { text: 'do it', person: 'ada' } });
  const journal = { ...at, lane: 's' } as const;
  const turn = { run, turn: 1 };
  await put(house, 'observer', journal, { ...turn, type: 'run.started', data: { number: 1 } });
  await put(house, 'observer', journal, {
    ...turn,
    type: 'model.requested',
    data: {
      provider: 'scripted',
      model: 'script',
      contextSnapshotId: SNAPSHOT,
      throughSeq: 1,
      projection: 'p1',
      tools: [bash, editFile].map((tool) => ({
        name: tool.name,
        digest: digestOf(tool),
        pool: tool.pool,
        readOnly: tool.readOnly,
      })),
      because: 'next_turn',
      budgetLeft: { turns: null, tokens: null, costUsd: null },
    },
  });
  await put(house, 'provider-gateway', journal, {
    ...turn,
    type: 'model.attempt.started',
    data: { attempt: 1, worker: 'w', provider: 'scripted', model: 'script' },
  });
  const intents = calls.map((_, index) => `${session}-${index + 1}`);
  await put(house, 'provider-gateway', journal, {
    ...turn,
    type: 'model.message',
    data: {
      attempt: 1,
      provider: 'scripted',
      model: 'script',
      contextSnapshotId: SNAPSHOT,
      parts: calls.map((call, index) => ({
        type: 'tool_call' as const,
        intent: intents[index] ?? '',
        tool: call.tool,
        rawInput: call.input,
        inputFormat: 'json' as const,
        providerRef: `p${index}`,
      })),
      stop: 'tool_calls',
      nativeStop: null,
      usage: null,
      costUsd: null,
      latencyMs: 1,
      requestId: null,
    },
  });
  for (const [index, call] of calls.entries()) {
    const lane = { ...at, lane: 'i', intent: intents[index] } as const;
    const { tool, input } = call;
    await put(house, 'provider-gateway', lane, {
      ...turn,
      type: 'tool.intent',
      data: { tool, rawInput: input, inputFormat: 'json', proposer: 'model' },
    });
    await put(house, 'validator', lane, { ...turn, type: 'tool.validated', data: call });
  }
  return intents.map((intent) => ({ session, intent }));
}

/** One call of a new session. */
export async function proposeOne(
  house: House,
  call: ToolValidatedV1,
  options: PlayOptions = {},
): Promise<Played> {
  const [played] = await propose(house, [call], options);
  if (!played) throw new Error('nothing proposed');
  return played;
}

/** The bytes as an artifact of the tenant; `sha:…` is a digest of which there are none. */
async function store(house: House, text: string): Promise<string> {
  if (text.startsWith('sha:')) return text.slice(4);
  await putArtifact(house.bus, 'local', text, { mediaType: 'application/yaml' });
  return sha256Hex(text);
}

/** A person answers the ask. `as` signs it; default the person named. */
export async function answer(
  house: House,
  asked: StoredEventOf<'tool.approval.asked'>,
  given: Partial<ToolAnswerV1> = {},
  as?: string,
): Promise<{ readonly seq: number; readonly id: string }> {
  const person = given.person ?? 'ada';
  const { session, intent = '' } = asked.envelope;
  return appendInbox(
    house.bus,
    house.writer(as ?? `client-${person}`),
    { tenant: 'local', session },
    {
      type: 'tool.answer',
      data: {
        intent,
        askedId: asked.envelope.id,
        bindingSha256: asked.data.bindingSha256,
        verdict: 'approve',
        person,
        ...given,
      },
    },
  );
}

/** What a pool says that sees the call as it was validated. */
export function accepts(call: ToolValidatedV1): PreflightReplyV1 {
  const { input, changes, assessment, baselines, sandboxLevel } = call;
  return { ok: true, errors: [], accepted: { input, changes, assessment, baselines, sandboxLevel } };
}

/** The first ask of a call. */
export function askedOf(
  house: House,
  played: Played,
  nth = 1,
): Promise<StoredEventOf<'tool.approval.asked'>> {
  return eventOf(house, played, 'tool.approval.asked', nth);
}

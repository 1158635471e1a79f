/**
 * What must be true of any session's log, checked from the stored events alone and without the code that wrote them.
 *
 * V1. Each journal is one chain: `prevseq` and `prevhash` name the stored event before it in its lane.
 * V2. No execution without an allowed decision before it; a fact belongs to a claim.
 * V3. An intent ends at most once in a fact, and has at most one observation; when the run is finished, exactly one.
 * V4. A turn is asked for only when every call of the turn before has its observation.
 * V5. Every attempt is recorded before its message; a request has at most one message.
 */
import { createHash } from 'node:crypto';
import { GENESIS_HASH, parseEventSubject } from '@interlock/contracts';
import { canonicalJson } from '@interlock/kit/pure';

/** An event as stored, with its sequence. */
export interface RawEvent {
  readonly seq: number;
  readonly event: Readonly<Record<string, unknown>>;
  /** SHA-256 of the stored bytes, which are canonical JSON of `event` unless somebody strange stored them. */
  readonly hash: string;
}

interface Seen extends RawEvent {
  readonly type: string;
  readonly intent: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface Expectation {
  /** The session is at rest, so nothing may be open. */
  readonly finished: boolean;
  /** Sequences of quarantined events: they count in the chain of their lane, and for nothing else. */
  readonly strays?: ReadonlySet<number>;
}

/** Sentences on what is wrong; empty when all holds. */
export function findViolations(events: readonly RawEvent[], options: Expectation): readonly string[] {
  const { strays = new Set<number>() } = options;
  const seen = events.filter(({ seq }) => !strays.has(seq)).map(toSeen);
  const intents = Map.groupBy(
    seen.filter((event) => event.intent !== ''),
    (event) => event.intent,
  );
  return [
    ...chainViolations(events, strays),
    ...[...intents].flatMap(([intent, lane]) => intentViolations(intent, lane, options.finished)),
    ...turnViolations(seen),
    ...(options.finished ? openViolations(seen, intents) : []),
  ];
}

function toSeen(raw: RawEvent): Seen {
  const { type, intent, data } = raw.event;
  return {
    ...raw,
    type: String(type),
    intent: typeof intent === 'string' ? intent : '',
    data: typeof data === 'object' && data !== null ? (data as Record<string, unknown>) : {},
  };
}

function chainViolations(events: readonly RawEvent[], strays: ReadonlySet<number>): readonly string[] {
  const tails = new Map<string, { seq: number; hash: string }>();
  const wrong: string[] = [];
  for (const { seq, event, hash } of events) {
    const address = parseEventSubject(String(event.subject));
    if (!address || address.lane === 'u' || address.lane === 'x') continue;
    const lane = `${address.lane}.${address.intent ?? ''}`;
    const tail = tails.get(lane) ?? { seq: 0, hash: GENESIS_HASH };
    if (event.prevseq !== tail.seq && !strays.has(seq))
      wrong.push(`${seq}: prevseq ${String(event.prevseq)}, the lane ends at ${tail.seq}`);
    if (event.prevhash !== tail.hash && !strays.has(seq))
      wrong.push(`${seq}: prevhash does not match event ${tail.seq}`);
    const computed = createHash('sha256').update(canonicalJson(event)).digest('hex');
    tails.set(lane, { seq, hash: strays.has(seq) ? hash : computed });
  }
  return wrong;
}

function intentViolations(intent: string, lane: readonly Seen[], finished: boolean): readonly string[] {
  const of = (type: string): readonly Seen[] => lane.filter((event) => event.type === type);
  const wrong: string[] = [];
  const allowed = of('tool.approval.allowed')[0];
  const started = of('tool.execution.started');
  for (const claim of started) {
    if (!allowed || allowed.seq > claim.seq)
      wrong.push(`${intent}: started at ${claim.seq} without an allowed decision before it`);
  }
  const completed = of('tool.execution.completed');
  if (completed.length > 1) wrong.push(`${intent}: ${completed.length} facts`);
  for (const fact of completed) {
    const refused = fact.data.outcome === 'refused';
    if (!refused && !started.some((claim) => claim.seq === fact.data.claimSeq))
      wrong.push(`${intent}: its fact names no claim`);
  }
  const observations = of('tool.observation').length;
  if (observations > 1) wrong.push(`${intent}: ${observations} observations`);
  if (finished && observations !== 1)
    wrong.push(`${intent}: no observation (${lane.map(({ type }) => type).join(', ')})`);
  return wrong;
}

function callsOf(message: Seen): readonly string[] {
  const parts = Array.isArray(message.data.parts) ? message.data.parts : [];
  return parts.flatMap((part: { type?: string; intent?: string }) =>
    part.type === 'tool_call' && part.intent ? [part.intent] : [],
  );
}

function turnViolations(seen: readonly Seen[]): readonly string[] {
  const wrong: string[] = [];
  const observed = new Set<string>();
  let open: readonly string[] = [];
  let answered = true;
  let attempted = true;
  for (const event of seen) {
    if (event.type === 'tool.observation') observed.add(event.intent);
    if (event.type === 'model.requested') {
      const missing = open.filter((intent) => !observed.has(intent));
      if (missing.length > 0)
        wrong.push(`${event.seq}: a turn was asked for while ${missing.join(', ')} had no observation`);
      answered = false;
      attempted = false;
    }
    if (event.type === 'model.attempt.started') attempted = true;
    if (event.type === 'model.message') {
      if (answered) wrong.push(`${event.seq}: a second message for one request`);
      if (!attempted) wrong.push(`${event.seq}: a message without an attempt before it`);
      answered = true;
      open = callsOf(event);
    }
  }
  return wrong;
}

function openViolations(
  seen: readonly Seen[],
  intents: ReadonlyMap<string, readonly Seen[]>,
): readonly string[] {
  const starts = seen.filter(({ type }) => type === 'run.started').length;
  const ends = seen.filter(({ type }) => type === 'run.finished').length;
  const declared = seen.filter(({ type }) => type === 'model.message').flatMap(callsOf);
  return [
    ...(starts === ends ? [] : [`${starts} runs started and ${ends} finished`]),
    ...declared
      .filter((intent) => !intents.has(intent))
      .map((intent) => `${intent}: declared and left without a word`),
  ];
}

/** Every example parses, or does not, as its folder says; the accepted ones together are one log that follows. */
import { describe, expect, test } from 'vitest';
import {
  eventExamples,
  eventFolders,
  folders,
  rpcExamples,
  signalExamples,
  versions,
} from '../testing/corpus.ts';
import { chained, corpusLog, storedEntries } from '../testing/corpus-log.ts';
import { canonicalJson, sha256Hex } from '../testing/index.ts';
import { evolve } from './conversation/evolve.ts';
import { judge } from './conversation/judge.ts';
import { type ConversationState, initialState } from './conversation/state.ts';
import { EVENT_TYPES, EVENTS } from './registry.ts';
import { RPCS, SIGNALS } from './rpc/v1.ts';
import { isEvent, parseEvent } from './stored-event.ts';
import { evolveRegistry, initialRegistry } from './system/fold.ts';

const upTo = (version: number): number[] => Array.from({ length: version }, (_, index) => index + 1);

describe('a folder for each schema, a schema for each folder', () => {
  test('events', () => {
    expect(eventFolders()).toEqual(EVENT_TYPES.toSorted());
    for (const type of EVENT_TYPES) expect(versions(type)).toEqual(upTo(EVENTS[type].version));
  });

  test('RPC', () => {
    expect(folders('rpc')).toEqual(Object.keys(RPCS).sort());
    for (const name of folders('rpc')) {
      expect(versions(`rpc/${name}`)).toEqual([1]);
      expect(folders(`rpc/${name}/v1`)).toEqual(['reply', 'request']);
    }
  });

  test('signals', () => {
    expect(folders('signals')).toEqual(Object.keys(SIGNALS).sort());
    for (const name of folders('signals')) expect(versions(`signals/${name}`)).toEqual([1]);
  });

  test('two examples of each verdict at least', () => {
    const counts = Map.groupBy([...eventExamples(), ...signalExamples(), ...rpcExamples()], ({ path }) =>
      path.slice(0, path.lastIndexOf('/')),
    );
    for (const [folder, examples] of counts) expect([folder, examples.length > 1]).toEqual([folder, true]);
  });
});

interface EventJson {
  readonly type: string;
  readonly subject: string;
}

describe('events', () => {
  test.each(eventExamples())('$path', ({ name, version, verdict, json }) => {
    const { type, subject } = json as EventJson;
    expect(type).toBe(name);
    const parsed = parseEvent(json, subject);
    expect(parsed).toMatchObject({ ok: verdict === 'accept' });
    if (verdict === 'accept') expect(json).toMatchObject({ dataschema: `urn:interlock:${name}:v${version}` });
  });

  test('each reject of a folder is refused for a reason of its own', () => {
    const rejects = eventExamples().filter(({ verdict }) => verdict === 'reject');
    for (const [name, examples] of Map.groupBy(rejects, (example) => example.name)) {
      const reasons = examples.map(({ json }) => {
        const parsed = parseEvent(json, (json as EventJson).subject);
        return parsed.ok ? '' : parsed.reason;
      });
      expect([name, new Set(reasons).size]).toEqual([name, examples.length]);
    }
  });
});

describe('RPC and signals', () => {
  test.each(rpcExamples())('$path', ({ name, side, verdict, json }) => {
    const { [side]: schema } = RPCS[name as keyof typeof RPCS];
    expect(schema.safeParse(json).success).toBe(verdict === 'accept');
  });

  test.each(signalExamples())('$path', ({ name, verdict, json }) => {
    expect(SIGNALS[name as keyof typeof SIGNALS].safeParse(json).success).toBe(verdict === 'accept');
  });
});

describe('unknown keys, at any depth, are taken and dropped', () => {
  /** What is anybody's JSON, and kept as it is. */
  const FREE = ['rawInput', 'input', 'inputSchema', 'value', 'event', 'state'];

  function withNovelty(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(withNovelty);
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value).map(([key, item]) => [
      key,
      FREE.includes(key) ? item : withNovelty(item),
    ]);
    return { ...Object.fromEntries(entries), novelty: { deep: [1] } };
  }

  const accepted = <Item extends { verdict: string }>(examples: readonly Item[]): Item[] =>
    examples.filter(({ verdict }) => verdict === 'accept');

  test.each(accepted(eventExamples()))('$path', ({ json }) => {
    const { subject } = json as EventJson;
    const [plain, novel] = [json, withNovelty(json)].map((it) => parseEvent(it, subject));
    if (!plain?.ok || !novel?.ok) throw new Error('not accepted');
    expect(novel.data).toEqual(plain.data);
    expect(novel.envelope).not.toHaveProperty('novelty');
  });

  test.each(accepted(rpcExamples()))('$path', ({ name, side, json }) => {
    const { [side]: schema } = RPCS[name as keyof typeof RPCS];
    expect(schema.parse(withNovelty(json))).toEqual(schema.parse(json));
  });

  test.each(accepted(signalExamples()))('$path', ({ name, json }) => {
    const schema = SIGNALS[name as keyof typeof SIGNALS];
    expect(schema.parse(withNovelty(json))).toEqual(schema.parse(json));
  });
});

describe('the accepted examples are one log', () => {
  const log = corpusLog();
  const entries = storedEntries(log);

  test('chained and signed; if not, run node contracts/scripts/rechain-corpus.ts', () => {
    for (const [index, { path, event }] of chained(log).entries()) {
      expect([path, canonicalJson(log[index]?.event)]).toEqual([path, canonicalJson(event)]);
    }
  });

  test('what does not follow is what a later example puts in quarantine', () => {
    const strays: unknown[] = [];
    const states = new Map<string, ConversationState>();
    for (const [index, entry] of entries.entries()) {
      if (entry.type === 'unreadable') throw new Error(`${log[index]?.path} is unreadable`);
      const { session, tenant } = entry.envelope;
      const state = states.get(session) ?? initialState(tenant, session);
      const judgement = judge(state, entry);
      if (!judgement.legal) strays.push({ seq: entry.seq, code: judgement.code, subject: entry.subject });
      states.set(session, evolve(state, entry));
    }
    const quarantined = entries.flatMap((entry) => {
      if (!isEvent(entry, 'event.quarantined')) return [];
      const { seq, code, subject } = entry.data;
      return [{ seq, code, subject }];
    });
    expect(strays).toEqual(quarantined);
  });

  test('the registry lanes chain', () => {
    for (const tenant of ['-', 'local']) {
      const lane = entries.filter(({ subject }) => subject.startsWith(`ev.v1.${tenant}.sys.`));
      const state = lane.reduce(evolveRegistry, initialRegistry(tenant));
      expect(state.tail.seq).toBe(lane.at(-1)?.seq);
      const last = lane.at(-1);
      expect(last?.type !== 'unreadable' && last?.envelope.prevseq).toBe(lane.at(-2)?.seq);
    }
  });

  test('hashes in the data are hashes of what they name', () => {
    const hashOf = (value: unknown): string => sha256Hex(canonicalJson(value));
    const registered = new Set<string>();
    for (const entry of entries) {
      if (isEvent(entry, 'tool.registered')) {
        expect(entry.data.digest).toBe(hashOf(entry.data.definition));
        registered.add(entry.data.digest);
      }
      if (isEvent(entry, 'tool.validated')) {
        expect(entry.data.inputSha256).toBe(hashOf(entry.data.input));
        expect(registered).toContain(entry.data.toolDigest);
      }
      if (isEvent(entry, 'tool.approval.allowed')) {
        const { input, inputSha256, intent } = entry.data.invocation;
        expect(inputSha256).toBe(hashOf(input));
        expect(entry.data.grounds.inputSha256).toBe(inputSha256);
        expect(entry.envelope.intent).toBe(intent);
      }
    }
  });

  test('every cause is an earlier example', () => {
    const seen = new Set<string>();
    for (const { path, event } of log) {
      if (typeof event.causationid === 'string')
        expect([path, seen.has(event.causationid)]).toEqual([path, true]);
      seen.add(event.id);
    }
  });
});

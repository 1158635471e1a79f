import { EMPTY_LANE, sessionFilter } from '@interlock/contracts';
import { canonicalJson } from '../src/canonical.ts';
import { decode } from '../src/decode.ts';
import { encodeEvent } from '../src/encode.ts';
import {
  ack,
  append,
  appendInbox,
  createSigner,
  FoldCache,
  generateKeyPair,
  readRange,
  runConsumer,
} from '../src/index.ts';
import { completed, retrying, userMessage } from './drafts.ts';
import {
  intentLane,
  journal,
  makeKeys,
  newSession,
  provisionDurable,
  startHouse,
  until,
  verifierOf,
  writerOf,
} from './house.ts';

const nodes = process.argv[2] === '3' ? 3 : 1;
const stat = (_name: string, times: number[]) => {
  times.sort((a, b) => a - b);
  const _q = (p: number) => times[Math.floor(times.length * p)]?.toFixed(3);
};
const time = async (name: string, n: number, f: (i: number) => unknown) => {
  const t: number[] = [];
  for (let i = 0; i < n; i++) {
    const s = performance.now();
    await f(i);
    t.push(performance.now() - s);
  }
  stat(name, t.slice(Math.floor(n / 10)));
};
const keys = makeKeys('executor-fs', 'observer');
const w = writerOf('executor-fs', keys.signer('executor-fs'));
const house = await startHouse({ nodes });
const bus = await house.bus();
const v = verifierOf(keys);
if (nodes === 1) {
  const enc = await encodeEvent(
    bus,
    w,
    { lane: { ...intentLane('s', 'i'), pool: 'fs' }, tail: EMPTY_LANE },
    completed('fs'),
  );
  const s = createSigner(generateKeyPair().privateKey);
  await time('sign 1 KB', 3000, () => s.sign(enc.bytes));
  await time(`encode signed event ${enc.bytes.length}`, 3000, () =>
    encodeEvent(bus, w, { lane: { ...intentLane('s', 'i'), pool: 'fs' }, tail: EMPTY_LANE }, completed('fs')),
  );
  const g = writerOf('provider-gateway');
  await time('encode unsigned event', 3000, () =>
    encodeEvent(bus, g, { lane: journal('s'), tail: EMPTY_LANE }, retrying('x')),
  );
  const many = await Promise.all(
    Array.from({ length: 3000 }, () =>
      encodeEvent(
        bus,
        w,
        { lane: { ...intentLane('s', 'i'), pool: 'fs' }, tail: EMPTY_LANE },
        completed('fs'),
      ),
    ),
  );
  await time('decode+verify (fresh)', 3000, (i) =>
    decode(bus, { subject: many[i]?.subject, seq: 1, data: many[i]?.bytes }, v),
  );
  await time('decode+verify (remembered)', 3000, (i) =>
    decode(bus, { subject: many[i]?.subject, seq: 1, data: many[i]?.bytes }, v),
  );
  await time('decode unchecked', 3000, (i) =>
    decode(bus, { subject: many[i]?.subject, seq: 1, data: many[i]?.bytes }),
  );
  await time('canonicalJson of it', 3000, () => canonicalJson(enc.envelope));
}
const g = writerOf('provider-gateway');
const session = newSession();
let tail = EMPTY_LANE;
await time('append (CAS, unsigned)', 1500, async () => {
  const r = await append(bus, g, journal(session), tail, retrying('x'.repeat(200)));
  if (r.ok) tail = r.tail;
});
let sig = 0;
await time('append (CAS, signed)', 500, async () => {
  await append(bus, w, { ...intentLane(session, `i${sig++}`), pool: 'fs' }, EMPTY_LANE, completed('fs'));
});
await time('appendInbox', 500, async () => {
  await appendInbox(bus, g, { tenant: 'local', session: 'inb' }, userMessage('x'));
});
const cache = new FoldCache<{ throughSeq: number; n: number }>({
  bus,
  verifier: v,
  initial: () => ({ throughSeq: 0, n: 0 }),
  evolve: (s, e) => ({ throughSeq: e.seq, n: s.n + 1 }),
  filter: sessionFilter,
});
const s2 = newSession();
let t2 = EMPTY_LANE;
const folds: number[] = [];
for (let i = 0; i < 500; i++) {
  const r = await append(bus, g, journal(s2), t2, retrying('y'));
  if (!r.ok) throw 0;
  t2 = r.tail;
  const a = performance.now();
  await cache.through('local', s2, t2.seq);
  folds.push(performance.now() - a);
}
stat('fold through(new seq), 1 new event', folds);
await time('fold exactly from start, 40 events', 300, async () => {
  const c = new FoldCache<{ throughSeq: number; n: number }>({
    bus,
    verifier: v,
    initial: () => ({ throughSeq: 0, n: 0 }),
    evolve: (s, e) => ({ throughSeq: e.seq, n: s.n + 1 }),
    filter: sessionFilter,
  });
  const first = t2.seq - 460;
  await c.exactly('local', s2, first);
});
await time('fold latest (nothing new)', 500, () => cache.latest('local', s2));
await time('readRange 500 events', 100, () =>
  readRange(bus, { filter: sessionFilter('local', s2), fromSeq: 1 }, v),
);
const d = { name: 'd', stream: 'EV', filters: [sessionFilter('local', 'lat')] };
await provisionDurable(bus, d);
const sent = new Map<number, number>();
const lat: number[] = [];
let seen = 0;
const b2 = await house.bus();
const c = runConsumer(b2, {
  durable: d,
  verifier: v,
  handle: async (x) => {
    const s = sent.get(x.seq);
    if (s) lat.push(performance.now() - s);
    seen++;
    return ack;
  },
});
await until(() => c.bound());
for (let i = 0; i < 500; i++) {
  const s = performance.now();
  const { seq } = await appendInbox(bus, g, { tenant: 'local', session: 'lat' }, userMessage('x'));
  sent.set(seq, s);
  await until(() => seen === i + 1);
  const a = lat;
  void a;
}
const d3 = { name: 'd3', stream: 'EV', filters: [sessionFilter('local', s2)] };
await provisionDurable(bus, d3);
let k = 0;
const _s0 = performance.now();
const c3 = runConsumer(b2, {
  durable: d3,
  verifier: v,
  concurrency: 16,
  key: (x) => String(x.seq),
  handle: async () => {
    k++;
    return ack;
  },
});
await until(() => k >= 500);
await Promise.all([c.stop(), c3.stop()]);
// conflict rounds
await time('append that conflicts', 200, () => append(bus, g, journal(s2), EMPTY_LANE, retrying('x')));
await house.stop();
process.exit(0);

import { EMPTY_LANE, laneFilter, sessionFilter } from '@interlock/contracts';
import { append } from '../src/index.ts';
import { directBatch, leaderGet } from '../src/stream-get.ts';
import { retrying } from './drafts.ts';
import { journal, newSession, startHouse, writerOf } from './house.ts';

const stat = (_name: string, times: number[]) => {
  times.sort((a, b) => a - b);
  const _q = (p: number) => times[Math.floor(times.length * p)]?.toFixed(3);
};
const house = await startHouse();
const bus = await house.bus();
const g = writerOf('provider-gateway');
for (const [name, read] of [
  [
    'direct batch session filter',
    (s: string, seq: number) =>
      directBatch(bus, { stream: 'EV', filter: sessionFilter('local', s), fromSeq: seq, limit: 1 }),
  ],
  [
    'direct batch lane filter',
    (s: string, seq: number) =>
      directBatch(bus, { stream: 'EV', filter: laneFilter(journal(s)), fromSeq: seq, limit: 1 }),
  ],
  [
    'leader get',
    (s: string, seq: number) => leaderGet(bus, 'EV', { seq, next_by_subj: sessionFilter('local', s) }),
  ],
  ['leader get by seq', (_s: string, seq: number) => leaderGet(bus, 'EV', { seq })],
  [
    'direct by seq, no filter',
    (_s: string, seq: number) =>
      bus.request('$JS.API.DIRECT.GET.EV', JSON.stringify({ seq }), { timeoutMs: 1000 }),
  ],
] as const) {
  const s = newSession();
  let tail = EMPTY_LANE;
  const t: number[] = [];
  const t2: number[] = [];
  for (let i = 0; i < 1500; i++) {
    const r = await append(bus, g, journal(s), tail, retrying('y'));
    if (!r.ok) throw 0;
    tail = r.tail;
    let a = performance.now();
    await read(s, tail.seq);
    t.push(performance.now() - a);
    a = performance.now();
    await read(s, tail.seq);
    t2.push(performance.now() - a);
  }
  stat(`${name} right after`, t.slice(200));
  stat('   again', t2.slice(200));
}
await house.stop();
process.exit(0);

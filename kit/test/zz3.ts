import { EMPTY_LANE } from '@interlock/contracts';
import { ack, append, createLogger, eventLogger, runConsumer } from '../src/index.ts';
import { retrying } from './drafts.ts';
import { journal, provisionDurable, startHouse, until, writerOf } from './house.ts';

const lg = createLogger({ service: 'x', instance: 'y', level: 'info' });
const _a = performance.now();
for (let i = 0; i < 20000; i++)
  eventLogger(lg, { tenant: 'local', session: 's', type: 't', id: `i${i}`, intent: 'x' });
const house = await startHouse();
const bus = await house.bus();
const g = writerOf('provider-gateway');
await Promise.all(
  Array.from({ length: 100 }, async (_, k) => {
    let tail = EMPTY_LANE;
    for (let i = 0; i < 100; i++) {
      const r = await append(bus, g, journal(`d${k}`), tail, retrying('y'));
      if (!r.ok) throw 0;
      tail = r.tail;
    }
  }),
);
for (const conc of [1, 8, 64]) {
  const d = { name: `d${conc}`, stream: 'EV', filters: ['ev.v1.>'] };
  await provisionDurable(bus, d);
  let k = 0;
  const b = await house.bus('c', { logger: lg });
  const _s0 = performance.now();
  const c = runConsumer(b, {
    durable: d,
    concurrency: conc,
    handle: async () => {
      k++;
      return ack;
    },
  });
  await until(() => k >= 10000, 60000);
  await c.stop();
}
await house.stop();
process.exit(0);

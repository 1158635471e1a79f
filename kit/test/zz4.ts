import { EMPTY_LANE, STREAMS } from '@interlock/contracts';
import { jetstreamManager } from '@nats-io/jetstream';
import { append } from '../src/index.ts';
import { retrying } from './drafts.ts';
import { journal, newSession, startHouse, until, writerOf } from './house.ts';

const house = await startHouse({ nodes: 3 });
const buses = await Promise.all(house.nats.urls.map((url) => house.bus('test', { url: [url] })));
for (let round = 0; round < 4; round++) {
  for (const [_who, list] of [['any', house.nats.urls]] as const) {
    const bus = await house.bus('w', { url: list });
    let stop = false;
    const at: number[] = [];
    let worst = 0;
    const w = (async () => {
      let tail = EMPTY_LANE;
      const lane = journal(newSession());
      while (!stop) {
        const a = performance.now();
        const r = await append(bus, writerOf('g'), lane, tail, retrying('x'));
        worst = Math.max(worst, performance.now() - a);
        if (!r.ok) throw new Error('conflict');
        tail = r.tail;
        at.push(1);
      }
    })();
    await until(() => at.length > 50);
    const leader = (await (await jetstreamManager(bus.nc)).streams.info(STREAMS.events)).cluster?.leader;
    const node = buses.findIndex((b) => b.nc.info?.server_name === leader);
    const _same = bus.nc.info?.server_name === leader;
    await house.nats.kill(node);
    const n = at.length;
    await until(() => at.length > n + 50, 60000);
    stop = true;
    await w;
    console.log("connected to leader", _same, "longest append", worst.toFixed(0), "ms");
    await house.nats.restart(node);
    await new Promise((r) => setTimeout(r, 3000));
  }
}
await house.stop();
process.exit(0);

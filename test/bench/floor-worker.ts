/** One role of the floor as a process: `floor-worker.ts <nats url> <role> <payload bytes>`. */
import { ack, connectBus, createLogger, runConsumer } from '@interlock/kit';
import { FLOOR_ROLES, floorDurable, floorSubject } from './floor-roles.ts';

const [url = '', name = '', bytes = '0'] = process.argv.slice(2);
const role = FLOOR_ROLES.find((candidate) => candidate.role === name);
if (!role) throw new Error(`there is no role "${name}"`);
const payload = Buffer.alloc(Number(bytes), 'x');
const bus = await connectBus({ url, name: `floor/${name}`, logger: createLogger({ level: 'warn' }) });

runConsumer(bus, {
  durable: floorDurable(role),
  concurrency: 64,
  key: ({ subject, seq }) => `${subject}${seq}`,
  handle: async ({ subject }) => {
    const [, chain = '', step] = subject.split('.');
    const appends = role.steps.find(({ on }) => on === step || on === '*')?.appends ?? [];
    for (const next of appends) await bus.request(floorSubject(chain, next), payload, { timeoutMs: 10_000 });
    return ack;
  },
});
process.stdout.write(`${JSON.stringify({ role: name, pid: process.pid })}\n`);

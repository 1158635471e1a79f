/** An executor's account: it has no JetStream, imports what it needs, and subscribes to its own inbox only. */
import { BUCKETS, EMPTY_LANE, executorDurable, leaseKey } from '@interlock/contracts';
import { createUser } from '@nats-io/nkeys';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type NatsHandle, startNats } from '../../test/harness/nats.ts';
import {
  ack,
  append,
  type Bus,
  connectBus,
  getArtifact,
  getKey,
  putArtifact,
  putWithTtl,
  runConsumer,
  type Writer,
} from '../src/index.ts';
import { leaderGet } from '../src/stream-get.ts';
import { completed } from './drafts.ts';
import {
  intentLane,
  makeKeys,
  newSession,
  provision,
  provisionDurable,
  quiet,
  until,
  writerOf,
} from './house.ts';

let nats: NatsHandle;
let core: Bus;
let executor: Bus;

const coreUser = createUser();
const executorUser = createUser();
const pool = 'fs';
const durable = executorDurable(pool);

const JS_API = [
  `CONSUMER.INFO.EV.${durable.name}`,
  `CONSUMER.MSG.NEXT.EV.${durable.name}`,
  'DIRECT.GET.BLOB.>',
  'DIRECT.GET.KV_lease.>',
];
const PLAIN = [
  'ev.v1.*.*.i.*.tool.execution.*.fs',
  'blob.v1.*.*.*',
  `$KV.lease.${pool}.*`,
  `$JS.ACK.EV.${durable.name}.>`,
];

function accounts(): string {
  const quoted = (subject: string): string => JSON.stringify(subject);
  const exports = [...JS_API.map((subject) => `$JS.API.${subject}`), ...PLAIN].map(
    (subject) =>
      `{ service: ${quoted(subject)}${subject.includes('MSG.NEXT') ? ', response_type: stream' : ''} }`,
  );
  const imports = [
    ...JS_API.map(
      (subject) =>
        `{ service: { account: CORE, subject: ${quoted(`$JS.API.${subject}`)} }, to: ${quoted(`core.API.${subject}`)} }`,
    ),
    ...PLAIN.map((subject) => `{ service: { account: CORE, subject: ${quoted(subject)} } }`),
  ];
  const rights = JSON.stringify({
    publish: [...JS_API.map((subject) => `core.API.${subject}`), ...PLAIN],
    subscribe: [`_I.executor-${pool}.>`],
  });
  return `
accounts {
  CORE { jetstream: enabled, users: [{ nkey: ${coreUser.getPublicKey()} }], exports: [${exports.join(',\n')}] }
  EXEC { users: [{ nkey: ${executorUser.getPublicKey()}, permissions: ${rights} }], imports: [${imports.join(',\n')}] }
}`;
}

const seedOf = (user: ReturnType<typeof createUser>): string => Buffer.from(user.getSeed()).toString();

beforeAll(async () => {
  nats = await startNats({ config: accounts() });
  core = await connectBus({ url: nats.url, name: 'core/1', nkeySeed: seedOf(coreUser), logger: quiet });
  await provision(core.nc, 1);
  await provisionDurable(core, durable);
  executor = await connectBus({
    url: nats.url,
    name: `executor-${pool}/1`,
    nkeySeed: seedOf(executorUser),
    apiPrefix: 'core.API',
    logger: quiet,
  });
});
afterAll(async () => {
  await Promise.all([core?.nc.close(), executor?.nc.close()]);
  await nats?.stop();
});

test('pulls its deliveries, stores artifacts and leases, and appends its facts', async () => {
  const keys = makeKeys('executor-fs');
  const session = newSession();
  const lane = { ...intentLane(session, 'i1'), pool };
  await core.request(`ev.v1.local.${session}.i.i1.tool.approval.allowed.fs`, '{"a":1}', { timeoutMs: 2000 });
  const delivered: number[] = [];
  const consumer = runConsumer(executor, {
    durable,
    handle: async () => ack,
    handleUnreadable: async ({ seq }) => {
      delivered.push(seq);
      return ack;
    },
  });
  await until(() => delivered.length === 1);
  expect(consumer.bound()).toBe(true);
  await consumer.stop();

  const { uri } = await putArtifact(executor, 'local', 'z'.repeat(600_000), { mediaType: 'text/plain' });
  expect((await getArtifact(executor, 'local', uri)).length).toBe(600_000);
  await putWithTtl(executor, BUCKETS.leases, leaseKey(pool, 'i1'), 'worker', 5000);
  expect(await getKey(executor, BUCKETS.leases, leaseKey(pool, 'i1'))).toMatchObject({ value: 'worker' });

  const looked: number[] = [];
  const writer: Writer = {
    ...writerOf(`executor-${pool}`, keys.signer('executor-fs')),
    readBack: async (_lane, afterSeq) => {
      looked.push(afterSeq);
      const next = await leaderGet(core, 'EV', {
        seq: afterSeq + 1,
        next_by_subj: `ev.v1.local.${session}.i.i1.>`,
      });
      return next && { seq: next.seq, nonce: null };
    },
  };
  const seq = delivered[0] ?? 0;
  const fact = await append(executor, writer, lane, { seq, hash: '0'.repeat(64) }, completed(pool));
  expect(fact).toMatchObject({ ok: true });
  expect(looked).toEqual([]);
  expect(await append(executor, writer, lane, EMPTY_LANE, completed(pool))).toEqual({ ok: false });
  expect(looked).toEqual([0]);
});

test('is told at once what it may not do', async () => {
  const started = performance.now();
  const session = newSession();
  const refused = append(executor, writerOf('provider-gateway'), intentLane(session, 'i1'), EMPTY_LANE, {
    type: 'tool.cancelled',
    data: { reason: 'expired' },
  });
  await expect(refused).rejects.toThrow(/permission/i);
  expect(performance.now() - started).toBeLessThan(2000);
});

test('refused credentials are not tried for long', async () => {
  const started = performance.now();
  const stranger = connectBus({ url: nats.url, name: 'x/1', nkeySeed: seedOf(createUser()), logger: quiet });
  await expect(stranger).rejects.toMatchObject({ code: 'nats_unreachable' });
  expect(performance.now() - started).toBeLessThan(3000);
});

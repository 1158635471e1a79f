import { type RpcName, rpcSubject } from '@interlock/contracts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type Bus,
  callRpc,
  RetryableError,
  type RpcRequest,
  type ServeOptions,
  serveRpc,
} from '../src/index.ts';
import { type House, startHouse } from './house.ts';

let house: House;
let client: Bus;
let server: Bus;

beforeAll(async () => {
  house = await startHouse();
  client = await house.bus('client');
  server = await house.bus('event-store');
});
afterAll(() => house.stop());

/** Serves, and waits until the server knows. */
async function serving<Name extends RpcName>(
  options: ServeOptions<Name>,
): Promise<{ stop(): Promise<void> }> {
  const service = serveRpc(server, options);
  await server.nc.flush();
  return service;
}

const subject = rpcSubject.query('local', 'events');
const call = (
  request: { session: string; limit?: number },
  timeoutMs = 3000,
): ReturnType<typeof callEvents> => callEvents(request, timeoutMs);
function callEvents(request: { session: string; limit?: number }, timeoutMs: number) {
  return callRpc(client, { subject, rpc: 'query.events', request, timeoutMs });
}

describe('an RPC', () => {
  test('is answered by one of the queue, with defaults filled in', async () => {
    const seen: RpcRequest<'query.events'>[] = [];
    const serve = () =>
      serving({
        subject: rpcSubject.query('*', 'events'),
        queue: 'event-store',
        rpc: 'query.events',
        handle: async (request, context) => {
          seen.push(request);
          expect(context.subject).toBe(subject);
          return { ok: true, events: [{ seq: 1, event: { a: 1 } }], throughSeq: 1, more: false };
        },
      });
    const [one, two] = await Promise.all([serve(), serve()]);
    expect(await call({ session: 's1' })).toEqual({
      ok: true,
      events: [{ seq: 1, event: { a: 1 } }],
      throughSeq: 1,
      more: false,
    });
    expect(seen).toEqual([{ session: 's1', fromSeq: 0, limit: 256 }]);
    await Promise.all([one.stop(), two.stop()]);
  });

  test('says so when nobody serves it or nobody answers in time', async () => {
    const nobody = call({ session: 's1' });
    await expect(nobody).rejects.toBeInstanceOf(RetryableError);
    await expect(nobody).rejects.toMatchObject({ code: 'query_timeout' });
    const pool = callRpc(client, {
      subject: rpcSubject.register('local', 'fs'),
      rpc: 'register',
      request: { pool: 'fs', instance: 'a', tools: [] },
      timeoutMs: 1000,
      unavailable: 'pool_unavailable',
    });
    await expect(pool).rejects.toMatchObject({ code: 'pool_unavailable' });
    const silent = await serving({
      subject,
      queue: 'q',
      rpc: 'query.events',
      handle: () => new Promise(() => undefined),
    });
    await expect(call({ session: 's1' }, 300)).rejects.toMatchObject({ code: 'query_timeout' });
    void silent.stop();
  });

  test('refuses a request that breaks its contract', async () => {
    const service = await serving({
      subject,
      queue: 'q2',
      rpc: 'query.events',
      handle: async () => ({ ok: true, events: [], throughSeq: 0, more: false }),
    });
    expect(await call({ session: 'not a token' })).toMatchObject({ ok: false, code: 'query_invalid' });
    const notJson = await client.request(subject, 'not json', { timeoutMs: 2000 });
    expect(notJson.json()).toMatchObject({ ok: false, code: 'query_invalid' });
    await service.stop();
  });

  test('answers with an error when the handler throws or the reply breaks its contract', async () => {
    const throws = await serving({
      subject,
      queue: 'q3',
      rpc: 'query.events',
      handle: async ({ session }) => {
        if (session === 'bug') throw new Error('oops');
        if (session === 'known') throw new RetryableError('session_not_found', 'no such session');
        return { ok: true } as never;
      },
    });
    expect(await call({ session: 'bug' })).toEqual({ ok: false, code: 'internal', message: 'oops' });
    expect(await call({ session: 'known' })).toMatchObject({ ok: false, code: 'session_not_found' });
    expect(await call({ session: 'bad' })).toMatchObject({ ok: false, code: 'internal' });
    await throws.stop();
  });

  test('carries bodies above what a message takes', async () => {
    const event = { text: 'x'.repeat(2_000_000) };
    const service = await serving({
      subject,
      queue: 'q4',
      rpc: 'query.events',
      handle: async () => ({ ok: true, events: [{ seq: 1, event }], throughSeq: 1, more: false }),
    });
    expect(await call({ session: 's1' })).toMatchObject({ ok: true, events: [{ event }] });
    await service.stop();
    const preflight = await serving({
      subject: rpcSubject.preflight('*', 'fs'),
      queue: 'fs',
      rpc: 'preflight',
      handle: async ({ input }) => ({
        ok: true,
        errors: [{ path: '', code: 'no_change', message: `${JSON.stringify(input).length}`, advice: '' }],
      }),
    });
    const reply = await callRpc(client, {
      subject: rpcSubject.preflight('local', 'fs'),
      rpc: 'preflight',
      request: {
        session: 's1',
        intent: 'i1',
        tool: 'write_file',
        toolDigest: '0'.repeat(64),
        input: 'y'.repeat(1_500_000),
        workspace: '/w',
        mode: 'normal',
        reads: [],
      },
      timeoutMs: 5000,
    });
    expect(reply).toMatchObject({ ok: true, errors: [{ message: '1500002' }] });
    await preflight.stop();
  });

  test('finishes what is in hand when it stops', async () => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let started = (): void => undefined;
    const running = new Promise<void>((resolve) => {
      started = resolve;
    });
    const service = await serving({
      subject,
      queue: 'q5',
      rpc: 'query.events',
      handle: async () => {
        started();
        await held;
        return { ok: true, events: [], throughSeq: 0, more: false };
      },
    });
    const reply = call({ session: 's1' });
    await running;
    const stopped = service.stop();
    release();
    await stopped;
    expect(await reply).toMatchObject({ ok: true });
  });
});

/** Making an executor known: its tools in the registry, and its presence while it lives. */
import { BUCKETS, executorKey, HOUSE_TENANT, rpcSubject } from '@interlock/contracts';
import { callRpc, deleteKey, messageOf, putWithTtl } from '@interlock/kit';
import type { ExecutorHouse } from './house.ts';

const PRESENCE_TTL_MS = 15_000;
const PRESENCE_EVERY_MS = 5000;
const REGISTER_TIMEOUT_MS = 5000;
const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 5000;

export interface Registration {
  /** True once the event-store has taken the tools. */
  isRegistered(): boolean;
  stop(): Promise<void>;
}

/** Registers until it is registered, and keeps the presence alive. Returns at once. */
export function keepRegistered(house: ExecutorHouse, instance: string): Registration {
  let registered = false;
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;

  const attempt = async (delayMs: number): Promise<void> => {
    const problem = await register(house, instance);
    if (stopped) return;
    if (problem === null) {
      registered = true;
      house.logger.info({ pool: house.pool, level: house.sandbox.level }, 'registered');
      return;
    }
    const level = delayMs >= LAST_RETRY_MS ? 'warn' : 'debug';
    house.logger[level]({ problem }, 'not registered yet');
    timer = setTimeout(() => void attempt(Math.min(LAST_RETRY_MS, delayMs * 2)), delayMs);
  };
  void attempt(FIRST_RETRY_MS);
  const presence = keepPresence(house, instance);
  return {
    isRegistered: () => registered,
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await presence.stop();
    },
  };
}

/** Null when it worked; otherwise why not. */
async function register({ bus, pool, tools }: ExecutorHouse, instance: string): Promise<string | null> {
  try {
    const reply = await callRpc(bus, {
      subject: rpcSubject.register(HOUSE_TENANT, pool),
      rpc: 'register',
      request: { pool, instance, tools: [...tools.values()].map(({ definition }) => definition) },
      timeoutMs: REGISTER_TIMEOUT_MS,
    });
    return reply.ok ? null : reply.message;
  } catch (error) {
    return messageOf(error);
  }
}

function keepPresence(house: ExecutorHouse, instance: string): { stop(): Promise<void> } {
  const { bus, pool, sandbox, clock, logger } = house;
  const key = executorKey(pool, instance);
  const value = JSON.stringify({ sandboxLevel: sandbox.level, since: clock.now().toISOString() });
  const tell = (): void => {
    if (!bus.connected()) return;
    putWithTtl(bus, BUCKETS.registry, key, value, PRESENCE_TTL_MS).catch((error: unknown) => {
      logger.debug({ error: messageOf(error) }, 'presence not confirmed');
    });
  };
  tell();
  const timer = setInterval(tell, PRESENCE_EVERY_MS);
  return {
    async stop() {
      clearInterval(timer);
      if (!bus.connected()) return;
      // It would run out by itself; this is only sooner.
      await deleteKey(bus, BUCKETS.registry, key).catch(() => undefined);
    },
  };
}

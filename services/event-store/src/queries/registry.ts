/** `query.registry`: tools in force and executors that are alive. */
import { BUCKETS, HOUSE_TENANT, toolsInForce } from '@interlock/contracts';
import { type Bus, listEntries, type RpcReply } from '@interlock/kit';
import { z } from 'zod';
import type { Registries } from '../registries.ts';

type Reply = RpcReply<'query.registry'>;
type LiveExecutor = Extract<Reply, { ok: true }>['executors'][number];

/** What an executor says of itself in its presence; what it leaves out is shown as unknown. */
const presenceSchema = z.object({
  sandboxLevel: z.string().default('unknown'),
  since: z.string().default(''),
});

export async function queryRegistry(bus: Bus, registries: Registries, tenant: string): Promise<Reply> {
  const [house, own, executors] = await Promise.all([
    registries.latest(HOUSE_TENANT),
    registries.latest(tenant),
    liveExecutors(bus),
  ]);
  return { ok: true, tools: [...toolsInForce(house, own)], executors };
}

/** Executors whose presence has not run out. */
export async function liveExecutors(bus: Bus): Promise<LiveExecutor[]> {
  const entries = await listEntries(bus, BUCKETS.registry, 'executor');
  return entries.flatMap(({ key, value }) => {
    const [, pool, instance] = key.split('.');
    return pool && instance ? [{ pool, instance, ...presenceOf(value) }] : [];
  });
}

function presenceOf(value: string): z.output<typeof presenceSchema> {
  try {
    const parsed = presenceSchema.safeParse(JSON.parse(value));
    if (parsed.success) return parsed.data;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  return presenceSchema.parse({});
}

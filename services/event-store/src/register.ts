/**
 * Executors offer their tools. A definition that is not in force becomes `tool.registered`, once, however many
 * replicas offer it; the pool's durable is there before the first of its tools is.
 */
import {
  executorDurable,
  type RegisterReplyV1,
  type RegisterRequestV1,
  type RegistryState,
  rpcSubject,
  type ToolDefinition,
} from '@interlock/contracts';
import { type Bus, hashOf, type Logger, serveRpc } from '@interlock/kit';
import { JetStreamRefusedError, putConsumer } from './jetstream-api.ts';
import { addressOf } from './queries/address.ts';
import { refusal } from './queries/refusal.ts';
import type { Registries } from './registries.ts';
import { consumerOf, type Profile } from './topology.ts';

export interface RegisterOptions {
  readonly bus: Bus;
  readonly registries: Registries;
  readonly profile: Profile;
  readonly logger: Logger;
  /** Pools with a live executor. */
  readonly livePools: () => Promise<ReadonlySet<string>>;
}

/** Serves `rpc.v1.<tenant>.register.<pool>`. */
export function serveRegister(options: RegisterOptions): { stop(): Promise<void> } {
  const { bus } = options;
  const provisioned = new Set<string>();
  return serveRpc(bus, {
    subject: rpcSubject.register('*', '*'),
    queue: 'event-store',
    rpc: 'register',
    handle: async (request, { subject }) => {
      const { tenant, last: pool } = addressOf(subject);
      const wrong = requestError(request, pool);
      if (wrong !== null) return refusal('query_invalid', wrong);
      if (!provisioned.has(pool)) {
        await provisionPool(options, pool);
        provisioned.add(pool);
      }
      return register(options, tenant, request);
    },
  });
}

async function register(
  { registries, livePools, logger }: RegisterOptions,
  tenant: string,
  { tools, instance, pool }: RegisterRequestV1,
): Promise<RegisterReplyV1> {
  const offers = tools.map((definition) => ({ definition, digest: hashOf(definition) }));
  const known = await registries.latest(tenant);
  const news = offers.filter(({ definition, digest }) => known.tools[definition.name] !== digest);
  // A name passes to another pool only when nobody of its pool is left to answer for it.
  const live = news.length > 0 ? await livePools() : new Set<string>();
  for (const { definition, digest } of news) {
    let owner: string | null = null;
    const event = await registries.settle(tenant, (state) => {
      owner = ownerOf(state, definition);
      if (state.tools[definition.name] === digest || (owner !== null && live.has(owner))) return null;
      return { type: 'tool.registered', data: { digest, definition } };
    });
    if (event) logger.info({ tool: definition.name, digest, pool, instance }, 'tool registered');
    else if (owner !== null) {
      return refusal('query_invalid', `tool "${definition.name}" belongs to pool "${owner}", which is alive`);
    }
  }
  return { ok: true, digests: offers.map(({ digest }) => digest) };
}

/** The other pool to which the name of the tool belongs; null when there is none. Pure. */
export function ownerOf(state: RegistryState, definition: ToolDefinition): string | null {
  const inForce = state.definitions[state.tools[definition.name] ?? ''];
  return inForce && inForce.pool !== definition.pool ? inForce.pool : null;
}

/** Why a request is refused; null when it is fine. A pool speaks for itself only. Pure. */
export function requestError({ pool, tools }: RegisterRequestV1, addressed: string): string | null {
  if (pool !== addressed) return `pool "${pool}" registers on the subject of "${addressed}"`;
  const foreign = tools.find((tool) => tool.pool !== pool);
  if (foreign) return `tool "${foreign.name}" names pool "${foreign.pool}"`;
  const names = new Set(tools.map(({ name }) => name));
  return names.size === tools.length ? null : 'a tool is named twice';
}

/** The durable of a pool that was not in the settings. One that is there stays as it is. */
async function provisionPool({ bus, profile, logger }: RegisterOptions, pool: string): Promise<void> {
  const { stream, config } = consumerOf(executorDurable(pool), profile);
  try {
    await putConsumer(bus, stream, config, 'create');
  } catch (error) {
    if (!(error instanceof JetStreamRefusedError) || error.code !== CONSUMER_EXISTS) throw error;
    logger.warn({ pool }, 'drift: the durable of the pool is not as wanted');
  }
}

const CONSUMER_EXISTS = 10148;

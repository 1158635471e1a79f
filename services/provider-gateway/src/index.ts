import { DURABLES, evolve, initialState, sessionFilter } from '@interlock/contracts';
import { FoldCache, getArtifact, runConsumer, type ServiceContext, type StartService } from '@interlock/kit';
import { watchCancels } from './cancel.ts';
import { anthropicKey, type GatewayConfig, loadGatewayConfig } from './config.ts';
import { createHandler } from './handler.ts';
import type { Provider } from './provider.ts';
import { createAnthropicProvider } from './providers/anthropic.ts';
import { createScriptedProvider } from './providers/scripted.ts';
import { createToolCatalog } from './tool-catalog.ts';

export { parseScript } from './providers/script.ts';
export { parseAnthropicStream, type StreamReport } from './providers/stream-report.ts';

/** Starts the provider gateway: `model.requested` becomes `model.message` and its intents, or `model.failed`. */
export const startProviderGateway: StartService = async (context) => {
  const { bus, writer, ids, metrics, logger } = context;
  const config = loadGatewayConfig(context.env);
  const cancels = watchCancels(bus);
  const handle = createHandler({
    bus,
    writer,
    ids,
    folds: new FoldCache({ bus, metrics, initial: initialState, evolve, filter: sessionFilter }),
    catalog: createToolCatalog(bus, metrics, logger),
    providers: await createProviders(context, config),
    cancels,
    config,
    random: Math.random,
  });
  const consumer = runConsumer(bus, {
    durable: DURABLES['provider-gateway'],
    concurrency: config.modelConcurrency,
    handle,
    metrics,
    logger,
  });
  return {
    async stop() {
      // An answer that is nearly there may come; what takes longer is another replica's.
      const grace = setTimeout(() => cancels.abandon(), config.modelStopGraceMs);
      await consumer.stop();
      clearTimeout(grace);
      cancels.stop();
    },
    ready: () => consumer.bound(),
  };
};

async function createProviders(
  { bus, env, logger }: ServiceContext,
  config: GatewayConfig,
): Promise<ReadonlyMap<string, Provider>> {
  const providers: Provider[] = [
    createScriptedProvider({ load: (tenant, uri) => getArtifact(bus, tenant, uri) }),
  ];
  const apiKey = await anthropicKey(config, env);
  if (apiKey !== null) {
    providers.push(
      createAnthropicProvider({
        apiKey,
        baseUrl: config.anthropicBaseUrl,
        cacheTtl: config.anthropicCacheTtl,
        limits: {
          firstByteMs: config.modelFirstByteMs,
          idleMs: config.modelIdleMs,
          totalMs: config.modelTotalMs,
        },
      }),
    );
  }
  logger.info({ providers: providers.map(({ name }) => name) }, 'providers at hand');
  return new Map(providers.map((provider) => [provider.name, provider]));
}

import { DURABLES, type EventType, sessionFilter } from '@interlock/contracts';
import { FoldCache, runConsumer, type StartService, type Verifier } from '@interlock/kit';
import { createBundles } from './bundles.ts';
import { loadPolicyConfig } from './config.ts';
import { createHandler, keyOf } from './handler.ts';
import { followManagedPolicy } from './managed.ts';
import { createRegistries } from './registries.ts';
import { evolve, initialState } from './state.ts';
import { createTimerHandler } from './timers.ts';

export { defaultBundle, policyOf } from './bundles.ts';
export { evaluatePolicy, type LayerBundle, type NativeRuling, type PolicyInForce } from './engines/native.ts';
export { type Bundle, describeProblems, type Loaded, type LoadProblem, loadBundle } from './rules/load.ts';
export type { Facts } from './rules/match.ts';

/** Signed by people, and by this service itself: what it acts on. */
const VERIFIED: ReadonlySet<EventType> = new Set<EventType>([
  'tool.answer',
  'undo.requested',
  'tool.approval.asked',
  'tool.approval.denied',
  'tool.approval.allowed',
]);

/** Starts the policy engine: `tool.validated` becomes `tool.approval.allowed`, `asked` or `denied`. */
export const startPolicyEngine: StartService = async (context) => {
  const { bus, writer, clock, metrics, logger, keys } = context;
  const config = loadPolicyConfig(context.env);
  const verifier: Verifier = { keys, types: VERIFIED };
  const registries = createRegistries(bus, metrics);
  const bundles = createBundles(bus, logger);
  const sessions = new FoldCache({
    bus,
    metrics,
    verifier,
    initial: initialState,
    evolve,
    filter: sessionFilter,
  });
  const house = { bus, writer, clock, config, bundles, registries, sessions };
  const managed = config.managedPolicy
    ? await followManagedPolicy({ ...house, logger, file: config.managedPolicy, pollMs: config.policyPollMs })
    : null;
  const shared = { concurrency: config.policyConcurrency, metrics, logger };
  const consumers = [
    runConsumer(bus, {
      ...shared,
      durable: DURABLES['policy-engine'],
      verifier,
      key: keyOf,
      handle: createHandler(house, clock.now()),
    }),
    runConsumer(bus, {
      ...shared,
      durable: DURABLES['policy-engine-timers'],
      key: ({ subject }) => subject,
      handle: createTimerHandler(house),
    }),
  ];
  return {
    async stop() {
      await managed?.stop();
      await Promise.all(consumers.map((consumer) => consumer.stop()));
    },
    ready: () => consumers.every((consumer) => consumer.bound()),
  };
};

import { DURABLES, sessionFilter } from '@interlock/contracts';
import { FoldCache, runConsumer, type StartService } from '@interlock/kit';
import { loadValidatorConfig } from './config.ts';
import { createDefinitions } from './definitions.ts';
import { createHandler, keyOf } from './handler.ts';
import { createSchemaCheck } from './schema.ts';
import { evolve, initialState } from './state.ts';

/** Starts the validator: `tool.intent` becomes `tool.validated` or `tool.validation_failed`. */
export const startValidator: StartService = async (context) => {
  const { bus, writer, clock, metrics, logger } = context;
  const config = loadValidatorConfig(context.env);
  const house = {
    bus,
    writer,
    clock,
    config,
    sessions: new FoldCache({ bus, metrics, initial: initialState, evolve, filter: sessionFilter }),
    definitions: createDefinitions(bus, metrics),
    checkInput: createSchemaCheck(),
  };
  const consumer = runConsumer(bus, {
    durable: DURABLES.validator,
    concurrency: config.validatorConcurrency,
    key: keyOf,
    handle: createHandler(house, clock.now()),
    metrics,
    logger,
  });
  return { stop: () => consumer.stop(), ready: () => consumer.bound() };
};

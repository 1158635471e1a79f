/** Everything that is generated from the contracts, by its path in the checkout. */
import { EVENT_TYPES, EVENTS } from '../../src/registry.ts';
import { RPCS, type RpcName, SIGNALS } from '../../src/rpc/v1.ts';
import { asyncApiDocument } from './asyncapi.ts';
import { errorsPage } from './errors-page.ts';
import type { JsonSchema } from './json-schema.ts';
import { eventSchema, rpcSchema, signalSchema } from './schemas.ts';

/** Version of the contracts that the next release will have. */
const CONTRACTS_VERSION = '0.1.0';

/** Folder of the schemas, in the checkout. */
export const SCHEMAS = 'contracts/schemas';

/** Schemas by their path below `SCHEMAS`. */
export function schemaFiles(): Map<string, JsonSchema> {
  const rpcs = Object.keys(RPCS) as RpcName[];
  const signals = Object.keys(SIGNALS) as (keyof typeof SIGNALS)[];
  return new Map([
    ...EVENT_TYPES.flatMap((type) =>
      Array.from({ length: EVENTS[type].version }, (_, index): [string, JsonSchema] => [
        `events/${type}.v${index + 1}.json`,
        eventSchema(type, index + 1),
      ]),
    ),
    ...rpcs.flatMap((name): [string, JsonSchema][] => [
      [`rpc/${name}.request.v1.json`, rpcSchema(name, 'request')],
      [`rpc/${name}.reply.v1.json`, rpcSchema(name, 'reply')],
    ]),
    ...signals.map((name): [string, JsonSchema] => [`rpc/${name}.v1.json`, signalSchema(name)]),
  ]);
}

/** Contents by path. Equal contracts give equal bytes. */
export function generatedFiles(): Map<string, string> {
  const schemas = [...schemaFiles()].map(([path, schema]): [string, string] => [
    `${SCHEMAS}/${path}`,
    `${JSON.stringify(schema, null, 2)}\n`,
  ]);
  return new Map([
    ...schemas,
    ['contracts/asyncapi.yaml', asyncApiDocument(CONTRACTS_VERSION)],
    ['docs/errors.md', errorsPage()],
  ]);
}

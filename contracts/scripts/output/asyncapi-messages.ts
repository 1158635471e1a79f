/** Messages of the AsyncAPI document: the generated schema of each, and examples from the corpus. */
import { EVENT_TYPES, EVENTS } from '../../src/registry.ts';
import { RPCS, SIGNALS } from '../../src/rpc/v1.ts';
import { eventExamples, rpcExamples, signalExamples } from '../../testing/corpus.ts';
import { type Json, names } from './asyncapi-parts.ts';
import { descriptionOf } from './descriptions.ts';

const SCHEMA_FORMAT = 'application/schema+json;version=draft-2020-12';

export function messages(): Json {
  const events = eventExamples();
  const rpc = rpcExamples();
  const signals = signalExamples();
  const examplesOf = (
    examples: readonly { name: string; verdict: string; path: string; json: unknown }[],
    name: string,
  ): Json[] =>
    examples
      .filter((example) => example.name === name && example.verdict === 'accept')
      .slice(0, 2)
      .map(({ path, json }) => ({ name: path.split('/').at(-1)?.replace('.json', ''), payload: json }));
  return Object.fromEntries([
    ...EVENT_TYPES.map((type) => [
      type,
      message(
        type,
        `events/${type}.v${EVENTS[type].version}`,
        descriptionOf(EVENTS[type].schema),
        examplesOf(events, type),
      ),
    ]),
    ...names(RPCS).flatMap((name) =>
      (['request', 'reply'] as const).map((side) => [
        `${name}.${side}`,
        message(
          `${name}.${side}`,
          `rpc/${name}.${side}.v1`,
          descriptionOf(RPCS[name][side]),
          examplesOf(
            rpc.filter((example) => example.side === side),
            name,
          ),
        ),
      ]),
    ),
    ...names(SIGNALS).map((name) => [
      name,
      message(name, `rpc/${name}.v1`, descriptionOf(SIGNALS[name]), examplesOf(signals, name)),
    ]),
    ['tail', { name: 'tail', title: 'tail', summary: 'The headers of a stored event; the body is empty.' }],
  ]);
}

function message(name: string, file: string, summary: string | undefined, examples: Json[]): Json {
  return {
    name,
    title: name,
    ...(summary ? { summary } : {}),
    payload: { schemaFormat: SCHEMA_FORMAT, schema: { $ref: `./schemas/${file}.json` } },
    examples,
  };
}

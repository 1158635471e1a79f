/** Channels of the AsyncAPI document: one for each event type, RPC and signal. */
import { EVENT_TYPES, EVENTS, type EventType } from '../../src/registry.ts';
import { RPCS, type RpcName } from '../../src/rpc/v1.ts';
import { controlSubject, eventFilter, liveSubject, POOLED_TYPES } from '../../src/subjects.ts';
import { type Json, names, RPC_PARTIES, ref } from './asyncapi-parts.ts';

const PARAMETERS: Readonly<Record<string, string>> = {
  tenant: 'Tenant; `local` where none is named, `-` for the house.',
  session: 'Session id.',
  intent: 'Id of the intent: one call.',
  pool: 'Pool of executors.',
  engine: 'Name of a policy engine.',
  kind: '`text` of a model or `output` of a call.',
  id: 'Id of the request (`text`) or of the intent (`output`).',
  rest: 'The remaining tokens of the subject in the log: lane, ids, type.',
};

export function channels(): Json {
  return Object.fromEntries([
    ...EVENT_TYPES.map((type) => [type, eventChannel(type)]),
    ...names(RPCS).flatMap((name) => [
      [`rpc.${name}`, channel(RPC_PARTIES[name].address, rpcTokens(name), [`${name}.request`])],
      [`rpc.${name}.reply`, { address: null, messages: { reply: ref(`components/messages/${name}.reply`) } }],
    ]),
    ['control.cancel', channel(controlSubject.cancel('*', '*'), ['tenant', 'session'], ['control.cancel'])],
    ['live', liveChannel()],
    ['tail', tailChannel()],
  ]);
}

/** Replaces each `*` of a filter by the next parameter. */
function channel(
  filter: string,
  tokens: readonly string[],
  messageNames: readonly string[],
  more: Json = {},
): Json {
  const left = [...tokens];
  return {
    address: filter.replaceAll('*', () => `{${left.shift()}}`),
    ...more,
    messages: Object.fromEntries(messageNames.map((name) => [name, ref(`components/messages/${name}`)])),
    parameters: Object.fromEntries(tokens.map((name) => [name, { description: PARAMETERS[name] }])),
  };
}

function eventChannel(type: EventType): Json {
  const { lane } = EVENTS[type];
  const address = eventFilter({ lane, tenant: '*', session: '*', intent: '*', type, pool: '*' });
  const tokens = [
    'tenant',
    ...(lane === 'sys' ? [] : ['session']),
    ...(lane === 'i' ? ['intent'] : []),
    ...(POOLED_TYPES.has(type) ? ['pool'] : []),
  ];
  return channel(address, tokens, [type]);
}

function rpcTokens(name: RpcName): string[] {
  if (name === 'policy.evaluate') return ['engine'];
  return name === 'preflight' || name === 'register' ? ['tenant', 'pool'] : ['tenant'];
}

function liveChannel(): Json {
  const address = liveSubject.session('-', '-').replace('-.-.>', '*.*.*.*');
  const description = 'Text as it comes, in chunks of 100 ms or 2 KiB. Never the record; may be lost.';
  return channel(address, ['tenant', 'session', 'kind', 'id'], ['live.chunk'], { description });
}

function tailChannel(): Json {
  const description =
    'A wake-up for each stored event, without its body: read the log by sequence. `{rest}` is several tokens.';
  return channel('tail.v1.*.*.*', ['tenant', 'session', 'rest'], ['tail'], { description });
}

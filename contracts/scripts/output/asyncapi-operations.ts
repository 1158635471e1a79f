/** Operations of the AsyncAPI document: who appends, who is woken, who calls and who answers. */
import { DURABLES, executorDurable } from '../../src/durables.ts';
import { EVENT_TYPES, EVENTS, type EventType, type Role } from '../../src/registry.ts';
import { RPCS } from '../../src/rpc/v1.ts';
import { ALL_EVENTS, eventFilter } from '../../src/subjects.ts';
import { type Json, names, type Party, RPC_PARTIES, ref } from './asyncapi-parts.ts';

export function operations(): Json {
  return Object.fromEntries([...appends(), ...deliveries(), ...calls(), ...others()]);
}

function operation(action: 'send' | 'receive', role: Party, channelName: string, more: Json = {}): Json {
  return { action, channel: ref(`channels/${channelName}`), tags: [{ name: role }], ...more };
}

function appends(): [string, Json][] {
  return EVENT_TYPES.flatMap((type) =>
    EVENTS[type].appendedBy.map((role): [string, Json] => [
      `${role}.appends.${type}`,
      operation('send', role, type, { summary: `Appends ${type}${EVENTS[type].signed ? ', signed' : ''}.` }),
    ]),
  );
}

function deliveries(): [string, Json][] {
  const durables = [
    ...names(DURABLES).map((role) => ({ role, filters: [...DURABLES[role].filters] as string[] })),
    {
      role: 'executor',
      filters: executorDurable('POOL').filters.map((filter) => filter.replace('POOL', '*')),
    },
  ];
  return durables.flatMap(({ role, filters }) =>
    EVENT_TYPES.filter((type) => wakes(filters, type)).map((type): [string, Json] => [
      `${role}.on.${type}`,
      operation('receive', role as Role, type, { summary: `Is woken by ${type}.` }),
    ]),
  );
}

function wakes(filters: readonly string[], type: EventType): boolean {
  const { lane } = EVENTS[type];
  const subject = eventFilter({ lane, tenant: '*', session: '*', intent: '*', type, pool: '*' });
  return filters.includes(ALL_EVENTS) || filters.includes(subject);
}

function calls(): [string, Json][] {
  return names(RPCS).flatMap((name): [string, Json][] => {
    const { callers, server } = RPC_PARTIES[name];
    const reply = {
      address: {
        location: '$message.header#/reply',
        description: 'The inbox of the request, as NATS carries it.',
      },
      channel: ref(`channels/rpc.${name}.reply`),
    };
    return [
      ...callers.map((role): [string, Json] => [
        `${role}.calls.${name}`,
        operation('send', role, `rpc.${name}`, { summary: `Asks for ${name}.`, reply }),
      ]),
      [
        `${server}.answers.${name}`,
        operation('receive', server, `rpc.${name}`, { summary: `Answers ${name}.`, reply }),
      ],
    ];
  });
}

function others(): [string, Json][] {
  const list: [string, Role, 'send' | 'receive', string][] = [
    ['observer.sends.control.cancel', 'observer', 'send', 'control.cancel'],
    ['provider-gateway.on.control.cancel', 'provider-gateway', 'receive', 'control.cancel'],
    ['executor.on.control.cancel', 'executor', 'receive', 'control.cancel'],
    ['provider-gateway.sends.live', 'provider-gateway', 'send', 'live'],
    ['executor.sends.live', 'executor', 'send', 'live'],
    ['client.on.live', 'client', 'receive', 'live'],
    ['client.on.tail', 'client', 'receive', 'tail'],
  ];
  return list.map(([name, role, action, at]) => [name, operation(action, role, at)]);
}

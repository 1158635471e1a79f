import { EVENT_TYPES, EVENTS, eventSubject, type Role } from '@interlock/contracts';
import { describe, expect, test } from 'vitest';
import { renderAccess, renderServer } from './nats-config.ts';
import { type BrokerUser, brokerUsers } from './permissions.ts';

const users = brokerUsers({ pools: ['fs', 'shell'], engines: ['cedar'] });
const user = (name: string): BrokerUser => {
  const found = users.find((each) => each.name === name);
  if (!found) throw new Error(`no user ${name}`);
  return found;
};

/** As the server matches: `*` one token, `>` the rest. */
function covers(pattern: string, subject: string): boolean {
  const wanted = pattern.split('.');
  const tokens = subject.split('.');
  for (const [at, token] of wanted.entries()) {
    if (token === '>') return tokens.length > at;
    if (tokens[at] === undefined || (token !== '*' && token !== tokens[at])) return false;
  }
  return wanted.length === tokens.length;
}
const mayPublish = (name: string, subject: string): boolean =>
  user(name).publish.some((pattern) => covers(pattern, subject));
const maySubscribe = (name: string, subject: string): boolean =>
  user(name).subscribe.some((pattern) => covers(pattern, subject));

const roleOf = (name: string): Role | null =>
  name.startsWith('executor-') ? 'executor' : name in rolesByName ? (name as Role) : null;
const rolesByName: Partial<Record<string, true>> = {
  client: true,
  'provider-gateway': true,
  validator: true,
  'policy-engine': true,
  observer: true,
  'event-store': true,
};

describe('rights', () => {
  test('P1: every type by those who append it, and by nobody else', () => {
    for (const type of EVENT_TYPES) {
      const { lane, appendedBy } = EVENTS[type];
      const subject = eventSubject({ tenant: 't', session: 's', lane, intent: 'i', type, pool: 'fs' });
      for (const { name } of users) {
        const role = roleOf(name);
        const may = role !== null && (appendedBy as readonly Role[]).includes(role);
        // Side facts name no pool; their signature does.
        const isOtherPool = name === 'executor-shell' && lane === 'i';
        expect(`${name} ${type} ${mayPublish(name, subject)}`).toBe(`${name} ${type} ${may && !isOtherPool}`);
      }
    }
  });

  test('P1: nobody has a wildcard over a lane', () => {
    for (const { publish } of users)
      for (const subject of publish) expect(subject).not.toMatch(/^ev\.v1\.(.*\.)?>$/);
  });

  test('P2: nobody hears the replies of another', () => {
    for (const { name } of users)
      for (const other of users) expect(maySubscribe(name, `_I.${other.name}.x.1`)).toBe(name === other.name);
  });

  test('P3: only the event-store makes streams and consumers', () => {
    const calls = [
      '$JS.API.STREAM.CREATE.EV',
      '$JS.API.STREAM.UPDATE.EV',
      '$JS.API.STREAM.DELETE.EV',
      '$JS.API.STREAM.PURGE.EV',
      '$JS.API.STREAM.MSG.DELETE.EV',
      '$JS.API.STREAM.SNAPSHOT.EV',
      '$JS.API.CONSUMER.CREATE.EV',
      '$JS.API.CONSUMER.CREATE.EV.x',
      '$JS.API.CONSUMER.CREATE.EV.x.ev.v1.>',
      '$JS.API.CONSUMER.DURABLE.CREATE.EV.x',
      '$JS.API.CONSUMER.DELETE.EV.observer',
      '$JS.API.CONSUMER.PAUSE.EV.observer',
    ];
    for (const { name } of users)
      for (const call of calls)
        expect(`${name} ${mayPublish(name, call)}`).toBe(`${name} ${name === 'event-store'}`);
  });

  test('P4: executors, clients and outsiders never read the log', () => {
    for (const name of ['executor-fs', 'client', 'operator', 'engine-cedar', 'analytics']) {
      for (const call of ['STREAM.MSG.GET.EV', 'DIRECT.GET.EV', 'DIRECT.GET.EV.ev.v1.t.s.u.user.message'])
        expect(mayPublish(name, `$JS.API.${call}`)).toBe(false);
      expect(maySubscribe(name, 'ev.v1.t.s.u.user.message')).toBe(false);
    }
  });

  test('a pool takes its own deliveries and speaks for itself', () => {
    expect(mayPublish('executor-fs', '$JS.API.CONSUMER.MSG.NEXT.EV.executor-fs')).toBe(true);
    expect(mayPublish('executor-fs', '$JS.API.CONSUMER.MSG.NEXT.EV.executor-shell')).toBe(false);
    expect(mayPublish('executor-fs', '$JS.ACK.EV.executor-shell.1.2.3.4.5')).toBe(false);
    expect(mayPublish('executor-fs', 'rpc.v1.-.register.shell')).toBe(false);
    expect(mayPublish('executor-fs', '$KV.lease.shell.i1')).toBe(false);
    expect(mayPublish('executor-fs', '$KV.registry.executor.shell.one')).toBe(false);
    expect(maySubscribe('executor-fs', 'rpc.v1.t.preflight.shell')).toBe(false);
    expect(mayPublish('executor-fs', '$KV.lease.fs.i1')).toBe(true);
    expect(maySubscribe('executor-fs', 'rpc.v1.t.preflight.fs')).toBe(true);
  });

  test('both forms of the acknowledgement', () => {
    expect(mayPublish('observer', '$JS.ACK.EV.observer.1.2.3.4.5')).toBe(true);
    expect(mayPublish('observer', '$JS.ACK.domain.hash.EV.observer.1.2.3.4.5')).toBe(true);
    expect(mayPublish('observer', '$JS.ACK.domain.hash.EV.validator.1.2.3.4.5')).toBe(false);
  });

  test('timers are set by their owners', () => {
    expect(mayPublish('policy-engine', 'timer.v1.at.approval.t.s.i')).toBe(true);
    expect(mayPublish('policy-engine', 'timer.v1.at.watch.t.s.i')).toBe(false);
    expect(mayPublish('observer', 'timer.v1.at.watch.t.s.i')).toBe(true);
    for (const { name } of users) expect(mayPublish(name, 'timer.v1.due.observer.watch.t.s.i')).toBe(false);
  });

  test('no name that is no token gets into a subject', () => {
    expect(() => brokerUsers({ pools: ['a.>'] })).toThrow(TypeError);
    expect(() => brokerUsers({ pools: [], engines: ['*'] })).toThrow(TypeError);
  });
});

describe('configuration', () => {
  const keyed = users.map((each, at) => ({ ...each, nkey: `U${at}` }));

  test('every user with its key and rights, in one account', () => {
    const text = renderAccess(keyed);
    expect(text.match(/nkey: U\d+/g)).toHaveLength(users.length);
    expect(text).toContain('max_payload: 1048576');
    for (const { publish } of keyed) for (const subject of publish) expect(text).toContain(`"${subject}"`);
  });

  test('a cluster has routes to all its nodes, a single server has none', () => {
    const server = { name: 'n1', storeDir: '/data', users: keyed };
    expect(renderServer({ ...server, nodes: ['n1', 'n2', 'n3'], syncInterval: 'always' })).toContain(
      'routes: ["nats://n1:6222", "nats://n2:6222", "nats://n3:6222"]',
    );
    expect(renderServer(server)).not.toContain('cluster');
    expect(renderServer(server)).not.toContain('sync_interval');
  });
});

import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { holds } from '../../testing/holds.ts';
import { LogBuilder, sample, sha } from '../../testing/index.ts';
import type { LogEntry } from '../stored-event.ts';
import { evolveRegistry, initialRegistry, type RegistryState, toolsInForce } from './fold.ts';

const fold = (entries: readonly LogEntry[], tenant = 'local'): RegistryState =>
  entries.reduce(evolveRegistry, initialRegistry(tenant));

const definition = (
  name: string,
  version = '1.0.0',
): ReturnType<typeof sample<'tool.registered'>>['definition'] => ({
  ...sample('tool.registered').definition,
  name,
  version,
});

describe('what does not count', () => {
  test('a stray moves the tail and nothing else', () => {
    const log = new LogBuilder();
    log.append('tool.registered', sample('tool.registered'));
    const before = fold(log.entries);
    const stray = log.append('grant.given', sample('grant.given'), { tail: { seq: 0, hash: sha('0') } });
    expect(fold(log.entries)).toEqual({ ...before, throughSeq: 2, tail: { seq: 2, hash: stray.hash } });
  });

  test('an unreadable entry moves the tail, and the next one chains to it', () => {
    const log = new LogBuilder();
    log.junk('sys');
    log.append('grant.given', sample('grant.given'));
    expect(Object.keys(fold(log.entries).grants)).toEqual(['grant-1']);
  });

  test('another lane or tenant moves the sequence', () => {
    const log = new LogBuilder();
    log.append('session.opened', sample('session.opened'));
    expect(fold(log.entries)).toEqual({ ...initialRegistry('local'), throughSeq: 1 });
    const other = new LogBuilder('other');
    other.append('grant.given', sample('grant.given'));
    expect(fold(other.entries)).toEqual({ ...initialRegistry('local'), throughSeq: 1 });
  });

  test('an entry at or before the end changes nothing', () => {
    const log = new LogBuilder();
    log.append('grant.given', sample('grant.given'));
    const state = fold(log.entries);
    expect(evolveRegistry(state, log.entries[0] as LogEntry)).toBe(state);
  });
});

test('the newest definition of a name is in force; the older one stays known', () => {
  const log = new LogBuilder();
  log.append('tool.registered', { digest: sha('1'), definition: definition('bash') });
  log.append('tool.registered', { digest: sha('2'), definition: definition('bash', '2.0.0') });
  const state = fold(log.entries);
  expect(state.tools).toEqual({ bash: sha('2') });
  expect(Object.keys(state.definitions)).toEqual([sha('1'), sha('2')]);
});

test('a tool of the tenant wins over the one of the house', () => {
  const house = new LogBuilder('-');
  house.append('tool.registered', { digest: sha('1'), definition: definition('bash') });
  house.append('tool.registered', { digest: sha('2'), definition: definition('read_file') });
  const tenant = new LogBuilder();
  tenant.append('tool.registered', { digest: sha('3'), definition: definition('bash', '9.0.0') });
  const inForce = toolsInForce(fold(house.entries, '-'), fold(tenant.entries));
  expect(inForce.map(({ digest, definition: { name } }) => [name, digest])).toEqual([
    ['bash', sha('3')],
    ['read_file', sha('2')],
  ]);
});

test('policies by layer, grants until revoked, quarantine in order', () => {
  const log = new LogBuilder();
  log.append('policy.activated', sample('policy.activated'));
  log.append('policy.activated', sample('policy.activated', { digest: sha('9') }));
  log.append('grant.given', sample('grant.given'));
  log.append('grant.given', sample('grant.given', { grantId: 'grant-2' }));
  log.append('grant.revoked', sample('grant.revoked'));
  log.append('event.quarantined', sample('event.quarantined', { seq: 4 }));
  log.append('event.quarantined', sample('event.quarantined', { seq: 2 }));
  log.append('checkpoint', sample('checkpoint'));
  const state = fold(log.entries);
  expect(state.policies.managed?.digest).toBe(sha('9'));
  expect(Object.keys(state.grants)).toEqual(['grant-2']);
  expect(state.grants['grant-2']).toMatchObject({ seq: 4, person: 'ada' });
  expect(state.quarantined).toEqual([4, 2]);
  expect(state.tail.seq).toBe(8);
});

test('folding in two parts equals folding at once', () => {
  const types = [
    'tool.registered',
    'policy.activated',
    'grant.given',
    'grant.revoked',
    'event.quarantined',
    'checkpoint',
  ] as const;
  const step = fc.record({ type: fc.constantFrom(...types), stray: fc.boolean() });
  holds(
    fc.property(fc.array(step), fc.nat(20), (steps, at) => {
      const log = new LogBuilder();
      for (const { type, stray } of steps)
        log.append(type, sample(type), stray ? { tail: { seq: 99, hash: sha('9') } } : {});
      const first = fold(log.entries.slice(0, at));
      expect(log.entries.slice(at).reduce(evolveRegistry, first)).toEqual(fold(log.entries));
    }),
  );
});

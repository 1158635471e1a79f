import { evolveRegistry, initialRegistry, type Mode, type RegistryState } from '@interlock/contracts';
import { LogBuilder, sample, sha } from '@interlock/contracts/testing';
import { describe, expect, test } from 'vitest';
import { createToolLookup, visibleTools } from './registry.ts';

function registry(
  tenant: string,
  tools: Record<string, { digest: string; visibleIn: Mode[] }>,
): RegistryState {
  const log = new LogBuilder(tenant);
  const { definition } = sample('tool.registered');
  for (const [name, { digest, visibleIn }] of Object.entries(tools)) {
    log.append('tool.registered', { digest: sha(digest), definition: { ...definition, name, visibleIn } });
  }
  return log.entries.reduce(evolveRegistry, initialRegistry(tenant));
}

const house = registry('-', {
  write_file: { digest: '1', visibleIn: ['normal'] },
  read_file: { digest: '2', visibleIn: ['normal', 'read-only'] },
});

describe('visible tools', () => {
  test('are those of the mode, by name', () => {
    const none = initialRegistry('local');
    const names = (mode: Mode): string[] => visibleTools(house, none, mode).map(({ name }) => name);
    expect(names('normal')).toEqual(['read_file', 'write_file']);
    expect(names('read-only')).toEqual(['read_file']);
    expect(names('replay')).toEqual([]);
  });

  test('a tool of the tenant stands before one of the house', () => {
    const own = registry('local', { read_file: { digest: '3', visibleIn: ['normal'] } });
    expect(visibleTools(house, own, 'normal')).toEqual([
      { name: 'read_file', digest: sha('3'), pool: 'fs', readOnly: true },
      { name: 'write_file', digest: sha('1'), pool: 'fs', readOnly: true },
    ]);
  });
});

describe('the lookup', () => {
  const setUp = (fail = false) => {
    const reads: string[] = [];
    let now = 0;
    const source = {
      latest: (tenant: string) => {
        reads.push(tenant);
        return fail && reads.length === 1
          ? Promise.reject(new Error('away'))
          : Promise.resolve(tenant === '-' ? house : initialRegistry(tenant));
      },
    };
    const lookup = createToolLookup(source, { maxAgeMs: 1000, clock: { now: () => new Date(now) } });
    return { reads, lookup, pass: (ms: number) => (now += ms) };
  };

  test('reads again when a second has passed', async () => {
    const { reads, lookup, pass } = setUp();
    await lookup('local', 'normal');
    pass(999);
    await lookup('local', 'read-only');
    expect(reads).toEqual(['-', 'local']);
    pass(1);
    await lookup('local', 'normal');
    expect(reads).toHaveLength(4);
  });

  test('does not remember a read that failed', async () => {
    const { lookup } = setUp(true);
    await expect(lookup('local', 'normal')).rejects.toThrow('away');
    await expect(lookup('local', 'normal')).resolves.toHaveLength(2);
  });
});

import type { Effect, SandboxLevel } from '@interlock/contracts';
import { expect, test } from 'vitest';
import { bash, command, WORKSPACE } from '../test/samples.ts';
import { invocationOf } from './invocation.ts';

const NOW = new Date('2026-11-30T12:00:00.000Z');

function permit(effects: Effect[], sandboxLevel: SandboxLevel = 'A', mode: 'normal' | 'replay' = 'normal') {
  const call = command('x', effects, { sandboxLevel });
  const opened = { workspace: WORKSPACE, mode };
  return invocationOf({ intent: 'i1', call, definition: bash, opened, now: NOW, ttlMs: 600_000 });
}

test('a reader gets neither a writable workspace nor the network', () => {
  expect(permit(['read-only']).sandbox).toEqual({ levels: ['A'], writable: false, network: false });
});

test.each<Effect>(['runs-project-code', 'writes-workspace', 'deletes', 'unknown', 'discards-vcs'])(
  '%s may write',
  (effect) => {
    expect(permit([effect]).sandbox).toMatchObject({ writable: true, network: false });
  },
);

test.each<Effect>(['network', 'installs-packages'])('%s gets the network', (effect) => {
  expect(permit([effect]).sandbox.network).toBe(true);
});

test('a host with as good a sandbox or a better one will do', () => {
  expect(permit(['read-only'], 'C').sandbox.levels).toEqual(['A', 'B', 'C']);
});

test('in replay no executor is reached', () => {
  expect(permit(['read-only'], 'A', 'replay').pool).toBe('recorded');
});

test('it carries all that an executor needs, and expires', () => {
  expect(permit(['read-only'])).toMatchObject({
    intent: 'i1',
    tool: 'bash',
    pool: 'shell',
    workspace: WORKSPACE,
    budgets: bash.budgets,
    resumePolicy: 'never-rerun',
    expiresAt: '2026-11-30T12:10:00.000Z',
  });
});

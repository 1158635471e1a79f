import { initialRegistry, type ToolDefinition } from '@interlock/contracts';
import { describe, expect, test } from 'vitest';
import { ownerOf, requestError } from './register.ts';

const tool = (name: string, pool: string): ToolDefinition => ({
  name,
  version: '1',
  description: '',
  pool,
  inputSchema: {},
  readOnly: true,
  visibleIn: ['normal'],
  needsBaseline: false,
  budgets: { timeoutMs: 1, outputBytes: 1 },
  resumePolicy: 'never-rerun',
});

describe('registration', () => {
  test('a pool speaks for itself only', () => {
    const request = { pool: 'fs', instance: 'i', tools: [tool('read_file', 'fs')] };
    expect(requestError(request, 'shell')).toContain('on the subject of "shell"');
    expect(requestError({ ...request, tools: [tool('bash', 'shell')] }, 'fs')).toContain(
      'names pool "shell"',
    );
    expect(requestError({ ...request, tools: [tool('a', 'fs'), tool('a', 'fs')] }, 'fs')).toContain('twice');
    expect(requestError(request, 'fs')).toBeNull();
  });

  test('the other pool to which a name belongs', () => {
    const digest = 'd';
    const state = {
      ...initialRegistry('-'),
      tools: { bash: digest },
      definitions: { [digest]: tool('bash', 'shell') },
    };
    expect(ownerOf(state, tool('bash', 'evil'))).toBe('shell');
    expect(ownerOf(state, tool('bash', 'shell'))).toBeNull();
    expect(ownerOf(state, tool('grep', 'evil'))).toBeNull();
  });
});

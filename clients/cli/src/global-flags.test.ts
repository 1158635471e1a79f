import { describe, expect, test } from 'vitest';
import { takeGlobals } from './global-flags.ts';

describe('the flags of every command', () => {
  test('stand before the command, behind it, or with =', () => {
    expect(takeGlobals(['--tenant', 'a', 'run', '--mode=read-only', 'task', '--json']).flags).toEqual({
      tenant: 'a',
      mode: 'read-only',
    });
  });

  test('leave everything else where it is', () => {
    expect(takeGlobals(['run', '--workspace', 'w', '--tenant', 'a', 'task', '--nope']).rest).toEqual([
      'run',
      '--workspace',
      'w',
      'task',
      '--nope',
    ]);
  });

  test('behind -- nothing is a flag', () => {
    const { flags, rest } = takeGlobals(['run', '--', '--tenant', '--json']);
    expect(flags).toEqual({});
    expect(rest).toEqual(['run', '--', '--tenant', '--json']);
  });

  test('one without its value is refused', () => {
    expect(() => takeGlobals(['run', 'task', '--model'])).toThrow('--model needs a value');
    expect(() => takeGlobals(['run', 'task', '--model', '--json'])).toThrow('--model needs a value');
  });

  test('no member of every object is a flag', () => {
    expect(takeGlobals(['--constructor', 'x']).rest).toEqual(['--constructor', 'x']);
  });
});

import { describe, expect, test } from 'vitest';
import { childEnv } from './child-env.ts';
import { SERVICES, specsOf } from './house-services.ts';

const base = {
  PATH: '/bin',
  HOME: '/home/ada',
  ANTHROPIC_API_KEY: 'sk-secret',
  INTERLOCK_ANTHROPIC_API_KEY: 'sk-secret-2',
  INTERLOCK_SOME_TOKEN: 'secret-3',
  AWS_SECRET_ACCESS_KEY: 'secret-4',
  GITHUB_TOKEN: 'secret-5',
  NODE_OPTIONS: '--require /tmp/evil.js',
  HTTPS_PROXY: 'http://user:pass@proxy',
  INTERLOCK_OBSERVATION_BYTES: '1000',
  INTERLOCK_FAILPOINT: 'before-ack',
  INTERLOCK_POOL: 'wrong',
};
const settings = {
  url: 'nats://n',
  keysDir: '/k',
  logLevel: 'info',
  pools: ['fs', 'shell'],
  hidden: ['/state'],
};
const specs = specsOf(SERVICES, ['fs', 'shell']);
const envOf = (name: string, own = {}) => {
  const spec = specs.find((each) => each.name === name);
  if (!spec) throw new Error(`no service ${name}`);
  return childEnv(spec, base, { ...settings, own });
};

describe('the environment of a service', () => {
  test('N2: no secret in any but the gateway', () => {
    for (const { name } of specs) {
      const text = JSON.stringify(envOf(name));
      expect(`${name} ${/secret|pass@/.test(text)}`).toBe(`${name} ${name === 'provider-gateway'}`);
    }
    expect(JSON.stringify(envOf('provider-gateway'))).not.toMatch(/secret-[45]/);
  });

  test('N1: nothing of the shell that was not named', () => {
    expect(Object.keys(envOf('executor-fs')).sort()).toEqual([
      'HOME',
      'INTERLOCK_HIDDEN_PATHS',
      'INTERLOCK_KEYS_DIR',
      'INTERLOCK_LOG_LEVEL',
      'INTERLOCK_NATS_URL',
      'INTERLOCK_OBSERVATION_BYTES',
      'INTERLOCK_POOL',
      'INTERLOCK_POOLS',
      'PATH',
    ]);
  });

  test('no call of a tool sees the state folder of the house, whatever else is hidden', () => {
    expect(envOf('executor-fs').INTERLOCK_HIDDEN_PATHS).toBe('/state');
    const spec = specs.find(({ kind }) => kind === 'executors');
    if (!spec) throw new Error('no executor');
    const env = childEnv(
      spec,
      { INTERLOCK_HIDDEN_PATHS: '/a:/b' },
      { ...settings, workspaceRoots: ['/w', '/x'] },
    );
    expect(env.INTERLOCK_HIDDEN_PATHS).toBe('/state:/a:/b');
    expect(env.INTERLOCK_WORKSPACE_ROOTS).toBe('/w:/x');
  });

  test('each pool its own; a setting of one service wins', () => {
    expect(envOf('executor-shell').INTERLOCK_POOL).toBe('shell');
    expect(envOf('observer').INTERLOCK_POOL).toBeUndefined();
    expect(envOf('observer', { INTERLOCK_FAILPOINT: 'after-append' }).INTERLOCK_FAILPOINT).toBe(
      'after-append',
    );
  });

  test('the event-store comes first, executors once for each pool', () => {
    expect(specs.map(({ name }) => name)).toEqual([
      'event-store',
      'provider-gateway',
      'validator',
      'policy-engine',
      'observer',
      'executor-fs',
      'executor-shell',
    ]);
  });
});

/** Settings and where each came from: flag, environment, project file, user file, default. First one wins. */
import { existsSync, readFileSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { join } from 'node:path';
import { LOCAL_TENANT } from '@interlock/contracts';
import { defaultStateDir } from '@interlock/deploy';
import { CliError } from './cli-error.ts';

export const SETTING_NAMES = [
  'natsUrl',
  'stateDir',
  'tenant',
  'person',
  'model',
  'mode',
  'logLevel',
] as const;
export type SettingName = (typeof SETTING_NAMES)[number];
export type Source = 'flag' | 'environment' | 'project' | 'user' | 'default';

export interface Setting {
  readonly name: SettingName;
  readonly variable: string;
  readonly value: string | undefined;
  readonly source: Source;
}
export type Settings = Readonly<Record<SettingName, Setting>>;

const VARIABLES: Record<SettingName, string> = {
  natsUrl: 'INTERLOCK_NATS_URL',
  stateDir: 'INTERLOCK_STATE_DIR',
  tenant: 'INTERLOCK_TENANT',
  person: 'INTERLOCK_PERSON',
  model: 'INTERLOCK_MODEL',
  mode: 'INTERLOCK_MODE',
  logLevel: 'INTERLOCK_LOG_LEVEL',
};

type Env = Readonly<Record<string, string | undefined>>;

/** The folder a person stands in; npm scripts run in the package root, so npm tells where it was called. */
export function callerDirectory(env: Env = process.env): string {
  return env.INIT_CWD ?? process.cwd();
}

export function loadSettings(flags: Partial<Record<SettingName, string>>, env: Env = process.env): Settings {
  const configHome = env.XDG_CONFIG_HOME ?? join(homedir(), '.config');
  const project = readConfig(join(callerDirectory(env), '.interlock', 'config.json'));
  const user = readConfig(join(configHome, 'interlock', 'config.json'));
  const defaults = defaultSettings(env);
  const pick = (name: SettingName): Setting => {
    const variable = VARIABLES[name];
    const found = [
      { value: flags[name], source: 'flag' },
      { value: env[variable], source: 'environment' },
      { value: project[name], source: 'project' },
      { value: user[name], source: 'user' },
    ].find(({ value }) => value !== undefined && value !== '');
    const source = (found?.source ?? 'default') as Source;
    return { name, variable, value: found?.value ?? defaults[name], source };
  };
  return Object.fromEntries(SETTING_NAMES.map((name) => [name, pick(name)])) as unknown as Settings;
}

function defaultSettings(env: Env): Partial<Record<SettingName, string>> {
  return {
    stateDir: defaultStateDir(callerDirectory(env), env),
    tenant: LOCAL_TENANT,
    person: userInfo().username.replaceAll(/[^A-Za-z0-9_-]/g, '_') || 'person',
    mode: 'normal',
    logLevel: 'warn',
  };
}

function readConfig(path: string): Partial<Record<string, string>> {
  if (!existsSync(path)) return {};
  try {
    const json: unknown = JSON.parse(readFileSync(path, 'utf8'));
    if (typeof json !== 'object' || json === null) throw new Error('it is not a JSON object');
    return Object.fromEntries(Object.entries(json).map(([name, value]) => [name, String(value)]));
  } catch (error) {
    throw new CliError(
      'config_invalid',
      `${path} cannot be read: ${error instanceof Error ? error.message : String(error)}.`,
    );
  }
}

/** The flags that every command has. All but `--json` are settings. */
import { CliError } from './cli-error.ts';
import type { SettingName } from './settings.ts';

export interface GlobalFlag {
  readonly flags: string;
  readonly description: string;
}

export const GLOBAL_FLAGS: readonly GlobalFlag[] = [
  { flags: '--json', description: 'machine-readable output: one JSON value a line' },
  { flags: '--nats-url <url>', description: 'a server that runs already, with a house or without' },
  { flags: '--state-dir <dir>', description: 'where a house of your own keeps its log and keys' },
  { flags: '--tenant <id>', description: 'whose sessions' },
  { flags: '--person <id>', description: 'who speaks and answers' },
  { flags: '--model <name>', description: 'scripted:FILE, anthropic:MODEL, or a model of Anthropic' },
  { flags: '--mode <mode>', description: 'normal, auto-edit, read-only' },
  { flags: '--log-level <level>', description: "level of the services' logs: debug, info, warn, error" },
];

const SETTINGS: Readonly<Record<string, SettingName>> = {
  'nats-url': 'natsUrl',
  'state-dir': 'stateDir',
  tenant: 'tenant',
  person: 'person',
  model: 'model',
  mode: 'mode',
  'log-level': 'logLevel',
};

export interface TakenGlobals {
  readonly flags: Partial<Record<SettingName, string>>;
  /** The other arguments, in order. */
  readonly rest: readonly string[];
}

/** Lifts these flags out of the arguments, wherever they stand before `--`. */
export function takeGlobals(argv: readonly string[]): TakenGlobals {
  const flags: Partial<Record<SettingName, string>> = {};
  const rest: string[] = [];
  for (let index = 0; index < argv.length; index += 1) {
    const argument = argv[index] ?? '';
    if (argument === '--') return { flags, rest: [...rest, ...argv.slice(index)] };
    if (argument === '--json') continue;
    const setting = settingOf(argument);
    if (setting === null) rest.push(argument);
    else if (argument.includes('=')) flags[setting] = argument.slice(argument.indexOf('=') + 1);
    else {
      index += 1;
      const value = argv[index];
      if (value === undefined || value.startsWith('--'))
        throw new CliError('usage', `${argument} needs a value.`);
      flags[setting] = value;
    }
  }
  return { flags, rest };
}

function settingOf(argument: string): SettingName | null {
  if (!argument.startsWith('--')) return null;
  const name = argument.slice(2).replace(/=.*$/s, '');
  return Object.hasOwn(SETTINGS, name) ? (SETTINGS[name] ?? null) : null;
}

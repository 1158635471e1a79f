/** `--model`: `scripted:FILE`, `anthropic:MODEL`, or a bare name of an Anthropic model. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { ModelChoice } from '@interlock/contracts';
import { type Bus, putArtifact } from '@interlock/kit';
import { CliError } from './cli-error.ts';
import { callerDirectory } from './settings.ts';

export const DEFAULT_MODEL = 'claude-sonnet-4-5';

/** A choice as far as it can be checked without a house. */
export interface CheckedModel {
  readonly provider: 'scripted' | 'anthropic';
  readonly model: string;
  /** Text of the script. */
  readonly script: string | null;
}

/** Checks the name; reads the file of a script. */
export function checkModel(name: string): CheckedModel {
  const [provider, rest] = splitName(name);
  if (provider === 'scripted') return { provider, model: 'script', script: readScript(rest) };
  if (provider === 'anthropic' && rest !== '') return { provider, model: rest, script: null };
  throw new CliError('usage', `There is no model "${name}": use scripted:FILE or anthropic:MODEL.`);
}

/** Stores a script as an artifact of the tenant, which is how it travels. */
export async function storeModel(bus: Bus, tenant: string, checked: CheckedModel): Promise<ModelChoice> {
  const { provider, model, script } = checked;
  if (script === null) return { provider, model };
  const artifact = await putArtifact(bus, tenant, script, { mediaType: 'application/json', name: 'script' });
  return { provider, model, script: artifact.uri };
}

/** Splits at the first colon; a bare name is a model of Anthropic's. */
function splitName(name: string): [provider: string, rest: string] {
  const at = name.indexOf(':');
  return at < 0 ? ['anthropic', name] : [name.slice(0, at), name.slice(at + 1)];
}

function readScript(file: string): string {
  const path = resolve(callerDirectory(), file);
  try {
    const text = readFileSync(path, 'utf8');
    JSON.parse(text);
    return text;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CliError('script_invalid', `The script ${path} cannot be read: ${why}.`, { cause: error });
  }
}

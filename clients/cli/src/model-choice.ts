/** `--model`: `scripted:FILE`, `anthropic:MODEL`, or a bare name of an Anthropic model. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { ModelChoice } from '@interlock/contracts';
import { type Bus, putArtifact } from '@interlock/kit';
import { CliError } from './cli-error.ts';
import { callerDirectory } from './settings.ts';

export const DEFAULT_MODEL = 'claude-sonnet-4-5';

/** Checks the choice and stores a script as an artifact of the tenant. */
export async function chooseModel(bus: Bus, tenant: string, name: string): Promise<ModelChoice> {
  const [provider, rest] = splitName(name);
  if (provider === 'scripted') {
    const artifact = await putArtifact(bus, tenant, readScript(rest), {
      mediaType: 'application/json',
      name: 'script',
    });
    return { provider, model: 'script', script: artifact.uri };
  }
  if (provider !== 'anthropic') {
    throw new CliError('usage', `There is no provider "${provider}": use scripted:FILE or anthropic:MODEL.`);
  }
  return { provider, model: rest };
}

/** Splits at the first colon; a bare name is a model of Anthropic's. */
export function splitName(name: string): [provider: string, rest: string] {
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
    throw new CliError('script_invalid', `The script ${path} cannot be read: ${why}.`);
  }
}

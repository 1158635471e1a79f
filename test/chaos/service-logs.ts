/** What the services and the house wrote down about themselves. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

const ERROR = 50;

export interface LogFindings {
  /** Services that ended by themselves, with why. */
  readonly ends: readonly string[];
  /** Messages of level error and above, by how often. */
  readonly errors: Readonly<Record<string, number>>;
}

interface Line {
  readonly level?: number;
  readonly msg?: string;
  readonly service?: string;
  readonly why?: string;
  readonly code?: string;
  readonly error?: unknown;
  readonly err?: { readonly message?: string };
}

export async function readServiceLogs(stateDir: string): Promise<LogFindings> {
  const dir = join(stateDir, 'logs');
  const ends: string[] = [];
  const errors: Record<string, number> = {};
  for (const name of (await readdir(dir)).filter((file) => file.endsWith('.log'))) {
    const lines = (await readFile(join(dir, name), 'utf8')).split('\n').flatMap(parse);
    if (name === 'house.log') {
      ends.push(...lines.filter(isUnexpectedEnd).map(({ service, why }) => `${service}: ${why}`));
      continue;
    }
    for (const line of lines.filter(({ level = 0 }) => level >= ERROR)) {
      const key = `${name.replace('.log', '')}: ${sentenceOf(line)}`;
      errors[key] = (errors[key] ?? 0) + 1;
    }
  }
  return { ends, errors };
}

/** Killed is what they are here to be. */
function isUnexpectedEnd({ msg, why = '' }: Line): boolean {
  return msg === 'a service is down' && !why.includes('SIGKILL');
}

function sentenceOf({ msg, err, code, error }: Line): string {
  const detail = String(err?.message ?? code ?? error ?? '');
  return detail === '' ? `${msg}` : `${msg} (${detail})`;
}

function parse(line: string): Line[] {
  if (!line.startsWith('{')) return [];
  try {
    return [JSON.parse(line)];
  } catch (error) {
    // The last line of a process that was killed may be half a line.
    if (error instanceof SyntaxError) return [];
    throw error;
  }
}

/** Where a house keeps what it needs between two starts. */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, mkdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

export interface HouseLayout {
  readonly stateDir: string;
  /** `<name>.key` and `trust.json`. */
  readonly keysDir: string;
  /** `<user>.nk` */
  readonly nkeysDir: string;
  readonly natsDir: string;
  readonly logsDir: string;
  /** The note that tells of a running house. */
  readonly registryFile: string;
}

export function layoutOf(stateDir: string): HouseLayout {
  const at = (...names: string[]): string => join(resolve(stateDir), ...names);
  return {
    stateDir: resolve(stateDir),
    keysDir: at('keys'),
    nkeysDir: at('nkeys'),
    natsDir: at('nats'),
    logsDir: at('logs'),
    registryFile: at('house.json'),
  };
}

/** Makes the folders. They hold private keys: nobody else may look. */
export async function ensureLayout(layout: HouseLayout): Promise<void> {
  for (const dir of [layout.stateDir, layout.keysDir, layout.nkeysDir, layout.natsDir, layout.logsDir])
    await mkdir(dir, { recursive: true, mode: 0o700 });
}

/**
 * The folder used when none is named: `.interlock/state` of `cwd` where that exists already, else one folder for each
 * `cwd` below the person's state home. Not simply below `cwd`: that is most often the workspace, and the private keys
 * of the house must not lie where a model's tools read.
 */
export function defaultStateDir(
  cwd: string = process.cwd(),
  env: Readonly<Record<string, string | undefined>> = process.env,
): string {
  const local = join(cwd, '.interlock', 'state');
  if (existsSync(local)) return local;
  const stateHome = env.XDG_STATE_HOME || join(homedir(), '.local', 'state');
  return join(stateHome, 'interlock', createHash('sha256').update(resolve(cwd)).digest('hex').slice(0, 12));
}

/**
 * A folder with one service's own private key and the public keys, so that a process is shown no key but its own.
 * @returns the folder, for `INTERLOCK_KEYS_DIR`
 */
export async function isolateKeys(layout: HouseLayout, name: string): Promise<string> {
  const dir = join(layout.stateDir, 'services', name);
  await mkdir(dir, { recursive: true, mode: 0o700 });
  await copyFile(join(layout.keysDir, 'trust.json'), join(dir, 'trust.json'));
  const key = join(layout.keysDir, `${name}.key`);
  if (existsSync(key)) await copyFile(key, join(dir, `${name}.key`));
  return dir;
}

/**
 * What `docker-compose.yml` mounts: server configurations with everyone's rights, and for each service a folder with
 * its own private key, its own seed and the public keys.
 */
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureKeys } from '@interlock/kit';
import { keySpecs } from './house-keys.ts';
import { ensureLayout, isolateKeys, layoutOf } from './house-layout.ts';
import { SERVICES, specsOf } from './house-services.ts';
import { renderServer } from './nats-config.ts';
import { ensureUserKeys } from './nkeys.ts';
import { brokerUsers } from './permissions.ts';

export interface ComposeOptions {
  readonly dir: string;
  readonly pools: readonly string[];
  readonly person: string;
  /** `always` for the profile `durable`. */
  readonly syncInterval?: string;
}

/** Host names of the servers; also the names of their configurations. */
export const NATS_NODES = ['n1', 'n2', 'n3'] as const;
/** Where a server of the image keeps its store. */
const STORE = '/data';

/** Writes what is missing and renders the rest anew. Keys that are there stay. */
export async function writeComposeFiles({ dir, pools, person, syncInterval }: ComposeOptions): Promise<void> {
  const layout = layoutOf(dir);
  await ensureLayout(layout);
  await ensureKeys(layout.keysDir, keySpecs(pools, person));
  const users = brokerUsers({ pools });
  const keys = await ensureUserKeys(
    layout.nkeysDir,
    users.map(({ name }) => name),
  );
  const keyed = users.map((user) => ({ ...user, nkey: keys.get(user.name)?.publicKey ?? '' }));
  for (const name of NATS_NODES) {
    const text = renderServer({
      name,
      storeDir: STORE,
      users: keyed,
      nodes: NATS_NODES,
      ...(syncInterval === undefined ? {} : { syncInterval }),
    });
    // Public keys and rights, no secret; the server runs as another user than the one who wrote it.
    await writeFile(join(layout.natsDir, `${name}.conf`), text, { mode: 0o644 });
  }
  for (const { name, kind } of specsOf(SERVICES, pools)) {
    // Where an executor keeps facts while the log is away: it must outlive the container.
    if (kind === 'executors')
      await mkdir(join(layout.stateDir, 'spool', name), { recursive: true, mode: 0o700 });
    const folder = await isolateKeys(layout, name);
    await copyFile(join(layout.nkeysDir, `${name}.nk`), join(folder, 'user.nk'));
  }
}

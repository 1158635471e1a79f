// `node deploy/src/prepare-compose.ts`: makes the files that docker-compose.yml mounts, in INTERLOCK_COMPOSE_DIR
// (default `.interlock/compose`). Run it again after a change of pools or rights: keys that are there stay.
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { isToken } from '@interlock/contracts';
import { writeComposeFiles } from './compose-files.ts';
import { DEFAULT_POOLS } from './house-services.ts';

const { INTERLOCK_COMPOSE_DIR, INTERLOCK_POOLS, INTERLOCK_PERSON, INTERLOCK_PROFILE } = process.env;
const dir = INTERLOCK_COMPOSE_DIR || join('.interlock', 'compose');
const pools = INTERLOCK_POOLS?.split(',') ?? [...DEFAULT_POOLS];
const person = INTERLOCK_PERSON || userInfo().username.replaceAll(/[^A-Za-z0-9_-]/g, '_');

const wrong = [...pools, person].find((name) => !isToken(name));
if (wrong === undefined) {
  const syncInterval = INTERLOCK_PROFILE === 'durable' ? 'always' : undefined;
  await writeComposeFiles({ dir, pools, person, ...(syncInterval === undefined ? {} : { syncInterval }) });
  process.stderr.write(`wrote ${dir}; now: docker compose up --build\n`);
} else {
  process.stderr.write(`"${wrong}" is not a name for a pool or a person: use letters, digits, "_" or "-"\n`);
  process.exitCode = 2;
}

/**
 * The managed layer: a file that operators own, activated for the whole house. It is looked at again and again; a
 * changed file that is sound comes into force by `policy.activated`, a broken one leaves the last good one in force and
 * says so loudly.
 */
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { HOUSE_TENANT } from '@interlock/contracts';
import {
  append,
  type Bus,
  type Logger,
  messageOf,
  putArtifact,
  sha256Hex,
  TerminalError,
  type Writer,
} from '@interlock/kit';
import type { Bundles } from './bundles.ts';
import { type RegistryReader, registryLane } from './registries.ts';
import { describeProblems, loadBundle } from './rules/load.ts';

export interface ManagedPolicy {
  readonly bus: Bus;
  readonly writer: Writer;
  readonly logger: Logger;
  readonly registries: RegistryReader;
  readonly bundles: Bundles;
  readonly file: string;
  readonly pollMs: number;
}

/**
 * Brings the file into force and follows it until `stop`.
 * @throws TerminalError `policy_invalid` when it is broken now and the house has no managed policy yet: without one
 *   nothing would be as managed as the operator means it to be
 */
export async function followManagedPolicy(managed: ManagedPolicy): Promise<{ stop(): Promise<void> }> {
  const { logger, file, pollMs, registries } = managed;
  let seen = await patiently(logger, async () => {
    const first = await readDigest(managed, null);
    const { house } = await registries.latest(HOUSE_TENANT);
    if (first.sound || house.policies.managed) return first;
    throw new TerminalError('policy_invalid', `${file}: ${first.problem ?? 'cannot be used'}`);
  });
  const stopping = new AbortController();
  const follow = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await sleep(pollMs, undefined, { signal: stopping.signal, ref: false }).catch(() => undefined);
      if (stopping.signal.aborted) return;
      try {
        seen = await readDigest(managed, seen);
      } catch (error) {
        logger.error(
          { file, error: messageOf(error) },
          'the managed policy could not be activated; trying again',
        );
      }
    }
  };
  const following = follow();
  return {
    async stop() {
      stopping.abort();
      await following;
    },
  };
}

/** How long to wait for a log that is not provisioned yet. */
const PATIENCE_MS = 60_000;

/** The log may come up after this service. */
async function patiently<Value>(logger: Logger, act: () => Promise<Value>): Promise<Value> {
  for (const deadline = performance.now() + PATIENCE_MS; ; ) {
    try {
      return await act();
    } catch (error) {
      if (error instanceof TerminalError || performance.now() > deadline) throw error;
      logger.warn({ error: messageOf(error) }, 'the managed policy cannot be activated yet');
      await sleep(500);
    }
  }
}

interface Seen {
  /** Of the bytes; null when the file could not be read. */
  readonly digest: string | null;
  readonly sound: boolean;
  readonly problem: string | null;
}

/** Looks at the file; activates it when it is sound and not what was seen last. */
async function readDigest(managed: ManagedPolicy, before: Seen | null): Promise<Seen> {
  const { logger, file, bundles } = managed;
  let bytes: Uint8Array;
  try {
    bytes = await readFile(file);
  } catch (error) {
    const problem = messageOf(error);
    if (before?.problem !== problem) complain(logger, file, problem);
    return { digest: null, sound: false, problem };
  }
  const digest = sha256Hex(bytes);
  if (digest === before?.digest) return before;
  const loaded = loadBundle(bytes);
  if (!loaded.ok) {
    const problem = describeProblems(loaded.problems);
    complain(logger, file, problem);
    return { digest, sound: false, problem };
  }
  bundles.remember(loaded);
  await activate(managed, bytes, loaded.bundle.rules.length);
  return { digest, sound: true, problem: null };
}

function complain(logger: Logger, file: string, problem: string): void {
  logger.error(
    { code: 'policy_invalid', file, problem },
    'the managed policy is broken; the last good one stays in force',
  );
}

async function activate(managed: ManagedPolicy, bytes: Uint8Array, rules: number): Promise<void> {
  const { bus, writer, logger, registries } = managed;
  const digest = sha256Hex(bytes);
  const { uri } = await putArtifact(bus, HOUSE_TENANT, bytes, {
    mediaType: 'application/yaml',
    name: 'managed policy',
  });
  for (;;) {
    const { house } = await registries.latest(HOUSE_TENANT);
    if (house.policies.managed?.digest === digest) return;
    const data = { layer: 'managed', digest, artifact: uri, rules } as const;
    const appended = await append(bus, writer, registryLane(HOUSE_TENANT), house.tail, {
      type: 'policy.activated',
      data,
    });
    if (appended.ok) {
      logger.info({ digest, rules }, 'the managed policy is in force');
      return;
    }
  }
}

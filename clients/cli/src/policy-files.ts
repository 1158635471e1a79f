/** Rules that travel with a session: the person's own by `--policy`, the project's by `.interlock/policy.yaml`. */
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { sha256OfArtifactUri } from '@interlock/contracts';
import { putArtifact } from '@interlock/kit';
import type { RuntimeContext } from '@interlock/runtime';
import { CliError } from './cli-error.ts';
import { EXIT } from './exit-codes.ts';
import { callerDirectory } from './settings.ts';

export interface PolicyFile {
  readonly path: string;
  readonly bytes: Uint8Array;
}

export interface PolicyFiles {
  readonly user: PolicyFile | null;
  readonly project: PolicyFile | null;
}

/** Reads and checks them; `policy_invalid` for one that is no rule file. */
export async function readPolicies(workspace: string, userFile: string | undefined): Promise<PolicyFiles> {
  const project = join(workspace, '.interlock', 'policy.yaml');
  return {
    user: userFile === undefined ? null : await readPolicy(resolve(callerDirectory(), userFile)),
    project: existsSync(project) ? await readPolicy(project) : null,
  };
}

/** Stores them as artifacts; the session names them by digest. */
export async function storePolicies(
  { bus, tenant }: RuntimeContext,
  { user, project }: PolicyFiles,
): Promise<{ user?: string; project?: string }> {
  const store = async ({ path, bytes }: PolicyFile): Promise<string> => {
    const artifact = await putArtifact(bus, tenant, bytes, { mediaType: 'application/yaml', name: path });
    return sha256OfArtifactUri(artifact.uri);
  };
  return {
    ...(user ? { user: await store(user) } : {}),
    ...(project ? { project: await store(project) } : {}),
  };
}

async function readPolicy(path: string): Promise<PolicyFile> {
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    throw new CliError('usage', `The policy file ${path} cannot be read.`, { cause: error });
  }
  const { describeProblems, loadBundle } = await import('@interlock/policy-engine');
  const loaded = loadBundle(bytes);
  if (loaded.ok) return { path, bytes };
  const problems = describeProblems(loaded.problems).replaceAll('\n', '; ');
  throw new CliError('policy_invalid', `${path}: ${problems}.`, {
    exitCode: EXIT.usage,
  });
}

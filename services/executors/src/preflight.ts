/** `rpc.v1.<tenant>.preflight.<pool>`: what a call would do to the real files of this host. Changes nothing. */
import type { PreflightReplyV1, PreflightRequestV1, ValidationError } from '@interlock/contracts';
import { rpcSubject } from '@interlock/contracts';
import { serveRpc } from '@interlock/kit';
import { artifactReader } from './artifacts.ts';
import type { ExecutorHouse } from './house.ts';
import { rejection } from './tools/rejection.ts';
import { openWorkspace } from './workspace/paths.ts';

export function servePreflight(house: ExecutorHouse): { stop(): Promise<void> } {
  return serveRpc(house.bus, {
    subject: rpcSubject.preflight('*', house.pool),
    queue: `executor-${house.pool}`,
    rpc: 'preflight',
    handle: (request, { subject }) => preflight(house, subject.split('.')[2] ?? '', request),
  });
}

async function preflight(
  house: ExecutorHouse,
  tenant: string,
  request: PreflightRequestV1,
): Promise<PreflightReplyV1> {
  const known = house.tools.get(request.tool);
  if (!known)
    return errors([rejection('unknown_tool', '', `the pool ${house.pool} has no tool ${request.tool}`)]);
  if (known.digest !== request.toolDigest)
    return errors([
      rejection('unknown_tool', '', `the pool has another version of ${request.tool}`, 'Call it again.'),
    ]);
  const opened = await openWorkspace(request.workspace, house.workspaces);
  if (!opened.ok)
    return errors([rejection(opened.code, '', opened.message, 'Tell the person who opened the session.')]);
  const { level } = house.sandbox;
  const judged = await known.tool.preflight(request.input, {
    workspace: opened.workspace,
    mode: request.mode,
    reads: request.reads,
    limits: house.limits,
    seen: house.seen,
    sandboxLevel: level,
    readArtifact: artifactReader(house.bus, tenant),
  });
  if (!judged.ok) return errors(judged.errors);
  const { input, changes, assessment, baselines } = judged;
  return {
    ok: true,
    errors: [],
    accepted: { input, changes: [...changes], assessment, baselines: [...baselines], sandboxLevel: level },
  };
}

function errors(found: readonly ValidationError[]): PreflightReplyV1 {
  return { ok: true, errors: [...found] };
}

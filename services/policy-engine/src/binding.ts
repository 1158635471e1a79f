/**
 * What an approval is bound to. Pure.
 *
 * B1. Tool, input, policy, files and sandbox are in the hash: another of these is another ask.
 * B2. What the person was shown is part of what they approved: effects, paths or hosts beyond it void the answer, also
 *     where no file of the baselines changed.
 */
import type { Grounds, ToolApprovalAskedV1 } from '@interlock/contracts';
import { hashOf } from '@interlock/kit/pure';
import type { Call } from './call.ts';

/** @param registrySeq sequence through which the registries of the tenant and of the house were folded */
export function groundsOf(call: Call, policyDigest: string, registrySeq: number): Grounds {
  const baselines = [...call.baselines].sort((a, b) => (a.path < b.path ? -1 : 1));
  return {
    inputSha256: call.inputSha256,
    policyDigest,
    baselinesSha256: hashOf(baselines),
    sandboxLevel: call.sandboxLevel,
    registrySeq,
  };
}

/** The hash that an answer must name. */
export function bindingOf(toolDigest: string, grounds: Grounds): string {
  const { inputSha256, policyDigest, baselinesSha256, sandboxLevel } = grounds;
  return hashOf({ toolDigest, inputSha256, policyDigest, baselinesSha256, sandboxLevel });
}

/** What differs from what was asked; empty when the answer still fits. */
export function changesSince(asked: ToolApprovalAskedV1, call: Call, grounds: Grounds): readonly string[] {
  const { prompt, grounds: then } = asked;
  const beyond = (now: readonly string[], shown: readonly string[]): boolean =>
    now.some((item) => !shown.includes(item));
  const changes = [
    then.inputSha256 === grounds.inputSha256 ? null : 'the input',
    then.baselinesSha256 === grounds.baselinesSha256 ? null : 'the files it rests on',
    then.policyDigest === grounds.policyDigest ? null : 'the policy',
    then.sandboxLevel === grounds.sandboxLevel ? null : 'the sandbox',
    beyond(call.assessment.effects, prompt.effects) ? 'what it would do' : null,
    beyond(pathsOf(call), prompt.paths) ? 'the paths it touches' : null,
    beyond(call.assessment.hosts, prompt.hosts) ? 'the hosts it talks to' : null,
  ].filter((change) => change !== null);
  if (changes.length > 0 || bindingOf(call.toolDigest, grounds) === asked.bindingSha256) return changes;
  return ['the tool'];
}

/** Real paths, each once. */
export function pathsOf(call: Call): string[] {
  return [...new Set(call.assessment.paths.map(({ real }) => real))];
}

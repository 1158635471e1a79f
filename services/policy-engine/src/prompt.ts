/** What a person is shown when they are asked. Pure. */
import type { Effect, PolicyMatch, ToolApprovalAskedV1, ToolIntentV1 } from '@interlock/contracts';
import { canonicalJson } from '@interlock/kit/pure';
import { pathsOf } from './binding.ts';
import type { Call } from './call.ts';
import { lineOf } from './rules/match.ts';
import { toVisible } from './visible.ts';

const COMMAND = { tabs: 'escape' } as const;
const DIFF = { tabs: 'keep' } as const;

/** Longer words of the model are cut, visibly. */
const MODEL_WORDS = 500;
/** A longer input is shown by its preview only; its hash is in the grounds. */
const INPUT_LIMIT = 8_000;

/** Title, reasons and preview, each safe to print. */
export function promptOf(
  call: Call,
  intent: Pick<ToolIntentV1, 'reason' | 'proposer'>,
  winner: PolicyMatch | null,
): ToolApprovalAskedV1['prompt'] {
  const { assessment, tool } = call;
  const line = lineOf(call.input);
  const preview = line ?? assessment.preview;
  return {
    title: `${tool}: ${toVisible(assessment.summary, COMMAND)}`,
    detail: detailOf(call, intent, winner),
    ...(preview === undefined ? {} : { preview: toVisible(preview, line === null ? DIFF : COMMAND) }),
    effects: assessment.effects,
    paths: pathsOf(call),
    hosts: [...assessment.hosts],
  };
}

function detailOf(
  call: Call,
  intent: Pick<ToolIntentV1, 'reason' | 'proposer'>,
  winner: PolicyMatch | null,
): string {
  const why = winner ? `${winner.reason} (rule ${winner.rule}, ${winner.layer})` : 'No rule decides it.';
  const lines = [why];
  if (call.changes.length > 0) {
    lines.push(`Normalised: ${call.changes.map(({ path, why: reason }) => `${path}: ${reason}`).join('; ')}`);
  }
  if (call.assessment.confidence !== 'certain') lines.push('What it would do is not certain.');
  const input = canonicalJson(call.input);
  if (input.length <= INPUT_LIMIT) lines.push(`Input: ${input}`);
  if (intent.reason !== undefined) lines.push(`The model says, unverified: ${cut(intent.reason)}`);
  return lines.map((text) => toVisible(text, COMMAND)).join('\n');
}

function cut(text: string): string {
  const left = text.length - MODEL_WORDS;
  return left > 0 ? `${text.slice(0, MODEL_WORDS)} [${left} characters more]` : text;
}

const HIGH: ReadonlySet<Effect> = new Set<Effect>([
  'privilege',
  'reads-secrets',
  'discards-vcs',
  'writes-outside',
  'unknown',
]);
const LOW: ReadonlySet<Effect> = new Set<Effect>(['read-only', 'runs-project-code']);

/** How bad it could be, from its effects. */
export function riskOf({ assessment }: Call): ToolApprovalAskedV1['risk'] {
  if (assessment.effects.some((effect) => HIGH.has(effect))) return 'high';
  return assessment.effects.every((effect) => LOW.has(effect)) ? 'low' : 'medium';
}

/** The native engine: rules in layers. Pure. */
import type { Decision, Layer, PolicyMatch, Verdict } from '@interlock/contracts';
import { type AskTerms, decideLayers, type Voice } from '../decide.ts';
import type { Bundle, CompiledRule } from '../rules/load.ts';
import type { Facts } from '../rules/match.ts';

const NATIVE_ENGINE = 'native';
/** Moves when the meaning of rules moves. */
const VERSION = '1';

/** A rule file and the layer it speaks for. */
export interface LayerBundle {
  readonly layer: Layer;
  /** SHA-256 of the file's bytes. */
  readonly digest: string;
  /** Null: it should be in force and could not be had. */
  readonly bundle: Bundle | null;
  /** Why it could not be had. */
  readonly problem?: string;
}

/** All rule files in force for a call. */
export interface PolicyInForce {
  readonly layers: readonly LayerBundle[];
  /** SHA-256 over layers and digests. */
  readonly digest: string;
}

export interface NativeRuling {
  readonly verdict: Verdict;
  readonly terms: AskTerms;
}

/** Judges a call by the rules in force. Same facts and same rules give the same answer, on any day and any machine. */
export function evaluatePolicy({ layers }: PolicyInForce, facts: Facts): NativeRuling {
  const voices = layers.flatMap((layer) => voicesOf(layer, facts));
  const { decision, winner, terms } = decideLayers(voices);
  const matches = voices.map(({ match }) => match);
  return {
    verdict: { engine: NATIVE_ENGINE, version: VERSION, decision, winner, matches, shadow: false },
    terms,
  };
}

function voicesOf({ layer, digest, bundle, problem }: LayerBundle, facts: Facts): readonly Voice[] {
  const say = (rule: string, decision: Decision, reason: string): PolicyMatch => ({
    layer,
    bundle: digest,
    rule,
    decision,
    reason,
  });
  const plain = { floor: false, approvers: [], expiresMs: null };
  if (!bundle) {
    // What it would have said is not known: a person decides, and no grant in their place.
    const reason = `The ${layer} policy cannot be used: ${problem ?? 'unknown'}.`;
    return [{ ...plain, kind: 'rule', match: say('policy-unavailable', 'ask', reason), grants: false }];
  }
  const found = bundle.rules.filter(({ matches }) => matches(facts));
  if (found.length > 0) return found.map((rule) => voiceOf(rule, say(rule.id, rule.decision, rule.reason)));
  if (bundle.fallback === null || !covers(bundle.fallback, facts)) return [];
  const reason = `The ${layer} policy says so where none of its rules matches.`;
  return [{ ...plain, kind: 'layer-default', match: say('default', bundle.fallback, reason), grants: true }];
}

/** As with rules: what nobody understood is not let pass by a word that did not mean it. */
function covers(fallback: Decision, { assessment }: Facts): boolean {
  return fallback !== 'allow' || !assessment.effects.includes('unknown');
}

function voiceOf({ floor, grants, approvers, expiresMs }: CompiledRule, match: PolicyMatch): Voice {
  return { kind: 'rule', match, floor, grants, approvers, expiresMs };
}

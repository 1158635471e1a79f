/**
 * The algebra of decisions.
 *
 * P1. Deny beats ask beats allow, across layers and across engines. Order decides only who is named as the winner:
 *     managed before project before user.
 * P2. The shipped default speaks only where no layer has spoken; its `floor` rules always do.
 * P3. The project layer can restrict and never raise: what it allows is recorded and has no force, and it silences
 *     nothing.
 * P4. Where nothing speaks, a person is asked.
 * P5. An engine without an answer never means allow, and no grant answers for it.
 * P6. A grant or an edit answers an ask, never a deny.
 */
import type { Decision, Layer, PolicyMatch, ToolApprovalAllowedV1, Verdict } from '@interlock/contracts';

/** A rule that matched, or what a layer says where none of its rules did. */
export interface Voice {
  readonly match: PolicyMatch;
  /** `rule`; `layer-default`: the layer's own `default`. */
  readonly kind: 'rule' | 'layer-default';
  readonly floor: boolean;
  readonly grants: boolean;
  readonly approvers: readonly string[];
  readonly expiresMs: number | null;
}

/** On what terms a person is asked. */
export interface AskTerms {
  /** Whether a grant may answer, and be given. */
  readonly grants: boolean;
  /** Empty: anyone but the proposer. */
  readonly approvers: readonly string[];
  /** Null: the house's setting. */
  readonly expiresMs: number | null;
}

export interface Ruling {
  readonly decision: Decision;
  readonly winner: PolicyMatch | null;
  readonly terms: AskTerms;
}

const RANK: Readonly<Record<Decision, number>> = { allow: 0, ask: 1, deny: 2 };
const LAYERS: readonly Layer[] = ['managed', 'project', 'user', 'default'];
const OPEN_TERMS: AskTerms = { grants: true, approvers: [], expiresMs: null };

/** The strictest of several; null of none. */
export function strictest(decisions: readonly Decision[]): Decision | null {
  return decisions.reduce<Decision | null>(
    (worst, one) => (worst === null || RANK[one] > RANK[worst] ? one : worst),
    null,
  );
}

/** What the layers say together. */
export function decideLayers(voices: readonly Voice[]): Ruling {
  const heard = voicesWithForce(voices);
  const decision = strictest(heard.map(({ match }) => match.decision)) ?? 'ask';
  const winners = heard.filter(({ match }) => match.decision === decision);
  const winner = LAYERS.flatMap((layer) => winners.filter(({ match }) => match.layer === layer))[0] ?? null;
  const asks = heard.filter(({ match }) => match.decision === 'ask');
  return { decision, winner: winner?.match ?? null, terms: decision === 'ask' ? termsOf(asks) : OPEN_TERMS };
}

function voicesWithForce(voices: readonly Voice[]): readonly Voice[] {
  const of = (...layers: Layer[]): readonly Voice[] =>
    voices.filter(({ match }) => layers.includes(match.layer));
  const shipped = of('default');
  const spoken = of('managed', 'user');
  const restrictions = of('project').filter(({ match }) => match.decision !== 'allow');
  const floors = shipped.filter(({ floor }) => floor);
  if (spoken.length === 0) return [...shipped, ...restrictions];
  if (spoken.some(({ kind }) => kind === 'rule')) return [...spoken, ...restrictions, ...floors];
  // A layer's `default` was not written with this call in mind: what the shipped policy denies stays denied.
  return [...spoken, ...restrictions, ...shipped.filter(({ match }) => match.decision === 'deny')];
}

/** Every ask must be content: no grant where one forbids it, the approvers that all of them accept, the nearest expiry. */
function termsOf(asks: readonly Voice[]): AskTerms {
  const ordered = LAYERS.flatMap((layer) => asks.filter(({ match }) => match.layer === layer));
  const lists = ordered.map(({ approvers }) => approvers).filter((list) => list.length > 0);
  const common = (lists[0] ?? []).filter((person) => lists.every((list) => list.includes(person)));
  const expiries = asks.flatMap(({ expiresMs }) => expiresMs ?? []);
  return {
    grants: asks.every(({ grants }) => grants),
    approvers: common.length > 0 ? common : (lists[0] ?? []),
    expiresMs: expiries.length > 0 ? Math.min(...expiries) : null,
  };
}

/**
 * What the engines say together; shadow engines are left out.
 * @param terms on which the native engine would ask
 */
export function decideEngines(verdicts: readonly Verdict[], terms: AskTerms): Ruling {
  const forced = verdicts.filter(({ shadow }) => !shadow);
  const decision = strictest(forced.map((verdict) => verdict.decision)) ?? 'ask';
  const winner = forced.find((verdict) => verdict.decision === decision && verdict.winner)?.winner ?? null;
  const silent = forced.some(({ error }) => error !== undefined);
  return { decision, winner, terms: { ...terms, grants: terms.grants && !silent } };
}

/** Who may stand in for a person's answer to an ask. */
export interface Standing {
  /** The answer that made the call by editing another. */
  readonly edit: { readonly answerId: string; readonly person: string } | null;
  readonly grant: { readonly grantId: string; readonly person: string } | null;
}

export type Outcome =
  | { readonly kind: 'allow'; readonly by: ToolApprovalAllowedV1['by'] }
  | { readonly kind: 'ask'; readonly terms: AskTerms; readonly winner: PolicyMatch | null }
  | { readonly kind: 'deny'; readonly rule: string | null; readonly reason: string };

/** What follows from a ruling for one call. */
export function settle({ decision, winner, terms }: Ruling, standing: Standing): Outcome {
  switch (decision) {
    case 'deny':
      return {
        kind: 'deny',
        rule: winner?.rule ?? null,
        reason: winner?.reason ?? 'A policy engine denies it.',
      };
    case 'allow':
      // Allowed without a rule that says so cannot be: nothing speaking means ask.
      return winner
        ? { kind: 'allow', by: { kind: 'rule', layer: winner.layer, rule: winner.rule } }
        : { kind: 'ask', terms, winner };
    case 'ask':
      return answeredBy(terms, standing) ?? { kind: 'ask', terms, winner };
  }
}

function answeredBy(terms: AskTerms, { edit, grant }: Standing): Outcome | null {
  if (edit && (terms.approvers.length === 0 || terms.approvers.includes(edit.person))) {
    return { kind: 'allow', by: { kind: 'answer', ...edit } };
  }
  return grant && terms.grants ? { kind: 'allow', by: { kind: 'grant', ...grant } } : null;
}

/** Who proposed may not be who approves. */
export function mayAnswer(approvers: readonly string[], person: string, proposer: string | null): boolean {
  return person !== proposer && (approvers.length === 0 || approvers.includes(person));
}

/**
 * Grants: a person lets what was shown pass from now on. Pure.
 *
 * G1. A grant covers the narrowest thing that was shown: the exact command, the one real path, or the exact input; and
 *     no effect beyond those shown.
 * G2. A grant for the session ends with it; one for the project is the person's own, for their sessions on that
 *     workspace.
 */
import type { GrantGivenV1, SessionOpenedV1, ToolAnswerV1 } from '@interlock/contracts';
import { canonicalJson } from '@interlock/kit/pure';
import { pathsOf } from './binding.ts';
import type { Call } from './call.ts';
import { lineOf } from './rules/match.ts';

type Pattern = GrantGivenV1['pattern'];

/** Fields of a command's input that change nothing about what it does. */
const HARMLESS_FIELDS: ReadonlySet<string> = new Set(['command', 'description', 'timeoutMs']);

/** What a grant for this call would cover; null when nothing narrow enough can be said. */
export function patternOf(call: Call): Pattern | null {
  const effects = [...new Set<string>(call.assessment.effects)].sort();
  const base = { tool: call.tool, effects };
  const command = lineOf(call.input);
  if (command !== null) {
    const fields = Object.keys(call.input as object);
    return fields.every((field) => HARMLESS_FIELDS.has(field)) ? { ...base, command } : null;
  }
  const [path, ...others] = pathsOf(call);
  if (path !== undefined && others.length === 0) return { ...base, path };
  return { ...base, command: canonicalJson(call.input) };
}

export interface GrantPlace {
  readonly session: string;
  readonly opened: Pick<SessionOpenedV1, 'workspace' | 'person'>;
  readonly now: Date;
}

/** The oldest grant that covers the call; null for none. */
export function findGrant(
  grants: Readonly<Record<string, GrantGivenV1>>,
  call: Call,
  place: GrantPlace,
): GrantGivenV1 | null {
  const pattern = patternOf(call);
  if (pattern === null) return null;
  return (
    Object.values(grants).find((grant) => isInForce(grant, place) && covers(grant.pattern, pattern)) ?? null
  );
}

function isInForce(grant: GrantGivenV1, { session, opened, now }: GrantPlace): boolean {
  if (grant.expiresAt !== null && Date.parse(grant.expiresAt) <= now.getTime()) return false;
  if (grant.workspace !== opened.workspace) return false;
  return grant.scope === 'session' ? grant.session === session : grant.person === opened.person;
}

function covers(granted: Pattern, wanted: Pattern): boolean {
  return (
    granted.tool === wanted.tool &&
    granted.command === wanted.command &&
    granted.path === wanted.path &&
    wanted.effects.every((effect) => granted.effects.includes(effect))
  );
}

export interface GrantRequest {
  readonly answerId: string;
  readonly answer: Pick<ToolAnswerV1, 'scope' | 'person'>;
  /** Scopes that the ask offered. */
  readonly offered: readonly string[];
  readonly session: string;
  readonly workspace: string;
}

/** The grant that an approval gives; null when it is for once, or wider than was offered. */
export function grantOf(call: Call, request: GrantRequest): GrantGivenV1 | null {
  const { answerId, answer, offered, session, workspace } = request;
  const { scope, person } = answer;
  const pattern = patternOf(call);
  if (scope === 'once' || !offered.includes(scope) || pattern === null) return null;
  return {
    // From the answer's id, so that giving it again after a crash is seen to be the same grant.
    grantId: `grant-${answerId}`,
    person,
    scope,
    ...(scope === 'session' ? { session } : {}),
    workspace,
    pattern,
    answerId,
    expiresAt: null,
  };
}

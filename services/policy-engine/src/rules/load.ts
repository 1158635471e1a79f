/**
 * From the bytes of a rule file to a bundle. A file that is wrong in any place is refused as a whole, with the line and
 * a sentence: half a policy is no policy.
 */
import type { Decision } from '@interlock/contracts';
import { sha256Hex } from '@interlock/kit/pure';
import { isCollection, isPair, isScalar, LineCounter, parseDocument } from 'yaml';
import { compileConditions, type FactTest } from './match.ts';
import { type Rule, ruleFileSchema } from './schema.ts';

export interface CompiledRule {
  readonly id: string;
  readonly decision: Decision;
  readonly reason: string;
  /** `ask`: whether a grant may answer it. */
  readonly grants: boolean;
  /** `ask`: who may answer; empty: anyone but the proposer. */
  readonly approvers: readonly string[];
  /** `ask`: how long it stays open; null: the house's setting. */
  readonly expiresMs: number | null;
  /** Speaks also where another layer's rule matches. */
  readonly floor: boolean;
  readonly matches: FactTest;
}

/** A rule file in force. */
export interface Bundle {
  /** SHA-256 of the bytes. */
  readonly digest: string;
  /** What the file wants where no rule matches; null: it does not say. */
  readonly fallback: Decision | null;
  readonly rules: readonly CompiledRule[];
}

export interface LoadProblem {
  /** From 1; 0 when it concerns the whole file. */
  readonly line: number;
  readonly message: string;
}

export type Loaded =
  | { readonly ok: true; readonly bundle: Bundle }
  | { readonly ok: false; readonly digest: string; readonly problems: readonly LoadProblem[] };

/** A rule file may be this large. */
const MAX_BYTES = 512 * 1024;

/** Parses and compiles a rule file. Total: never throws for its content. */
export function loadBundle(content: string | Uint8Array): Loaded {
  const digest = sha256Hex(content);
  const text = typeof content === 'string' ? content : new TextDecoder().decode(content);
  if (text.length > MAX_BYTES) {
    return {
      ok: false,
      digest,
      problems: [{ line: 0, message: `the file is larger than ${MAX_BYTES} bytes` }],
    };
  }
  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    uniqueKeys: true,
    merge: false,
    schema: 'core',
  });
  if (document.errors.length > 0) {
    const problems = document.errors.map(({ pos, message }) => ({
      line: lines.linePos(pos[0]).line,
      message: message.split('\n')[0] ?? message,
    }));
    return { ok: false, digest, problems };
  }
  const lineOf = (path: readonly PropertyKey[]): number => lineOfPath(document, lines, path);
  const parsed = ruleFileSchema.safeParse(toPlain(document));
  if (!parsed.success) {
    const problems = parsed.error.issues.map(({ path, message }) => ({
      line: lineOf(path),
      message: `${place(path)}: ${message}`,
    }));
    return { ok: false, digest, problems };
  }
  return compile(digest, parsed.data.default ?? null, parsed.data.rules, lineOf);
}

function toPlain(document: ReturnType<typeof parseDocument>): unknown {
  try {
    return document.toJS({ maxAliasCount: 50 });
  } catch {
    // Too many aliases: no rule file needs them.
    return null;
  }
}

function compile(
  digest: string,
  fallback: Decision | null,
  rules: readonly Rule[],
  lineOf: (path: readonly PropertyKey[]) => number,
): Loaded {
  const compiled: CompiledRule[] = [];
  const problems: LoadProblem[] = [];
  rules.forEach((rule, index) => {
    try {
      compiled.push(toCompiled(rule));
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      problems.push({ line: lineOf(['rules', index]), message: `the rule "${rule.id}" ${why}` });
    }
  });
  return problems.length > 0
    ? { ok: false, digest, problems }
    : { ok: true, bundle: { digest, fallback, rules: compiled } };
}

function toCompiled(rule: Rule): CompiledRule {
  const { id, decision, reason, approvers = [], grants = true, expires, floor = false } = rule;
  return {
    id,
    decision,
    reason,
    approvers,
    grants: grants && approvers.length === 0,
    expiresMs: expires === undefined ? null : toMs(expires),
    floor,
    matches: compileConditions(rule),
  };
}

const UNIT_MS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

function toMs(duration: string): number {
  return Number(duration.slice(0, -1)) * (UNIT_MS[duration.slice(-1)] ?? 1000);
}

function place(path: readonly PropertyKey[]): string {
  if (path.length === 0) return 'the whole file';
  const text = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('');
  return text.startsWith('.') ? text.slice(1) : text;
}

/** Line of the deepest node on the path that is really there. */
function lineOfPath(
  document: ReturnType<typeof parseDocument>,
  lines: LineCounter,
  path: readonly PropertyKey[],
): number {
  for (let depth = path.length; depth > 0; depth--) {
    const node: unknown = document.getIn(path.slice(0, depth), true);
    const range = isScalar(node) || isCollection(node) || isPair(node) ? rangeOf(node) : null;
    if (range !== null) return lines.linePos(range).line;
  }
  return path.length === 0 ? 0 : 1;
}

function rangeOf(node: unknown): number | null {
  const { range } = node as { range?: readonly number[] | null };
  return range?.[0] ?? null;
}

/** The problems of a file as text, one a line: `line 12: rules[3].decision …`. */
export function describeProblems(problems: readonly LoadProblem[]): string {
  return problems.map(({ line, message }) => (line > 0 ? `line ${line}: ${message}` : message)).join('\n');
}

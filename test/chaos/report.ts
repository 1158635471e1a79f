/** The report of a chaos run: one JSON object. Pure. */
import type { ChaosOptions } from './chaos.ts';
import type { FleetCounts } from './fleet.ts';
import type { LogFindings } from './service-logs.ts';
import type { Verified } from './verify.ts';

export interface ChaosReport {
  readonly passed: boolean;
  readonly seed: number;
  readonly nodes: number;
  readonly kills: { readonly total: number } & FleetCounts;
  /** Kills of nats-server, not among the others. */
  readonly serverKills: number;
  /** Failpoints that no service died at. */
  readonly missedFailpoints: readonly string[];
  readonly sessions: number;
  readonly runs: number;
  /** How sessions ended. */
  readonly ends: Readonly<Record<string, number>>;
  readonly intents: number;
  /** How intents ended. */
  readonly endings: Readonly<Record<string, number>>;
  readonly indeterminate: number;
  readonly lateFacts: number;
  /** Marks that intents left in the world. */
  readonly effects: number;
  readonly strays: number;
  readonly violations: readonly string[];
  /** Services that ended without being killed. */
  readonly unexpectedEnds: readonly string[];
  /** What services logged as errors, by how often. Not a violation by itself. */
  readonly loggedErrors: Readonly<Record<string, number>>;
  readonly seconds: { readonly harmed: number; readonly settled: number; readonly longestStart: number };
}

export interface Findings {
  readonly options: Pick<ChaosOptions, 'seed' | 'nodes'>;
  readonly counts: FleetCounts;
  readonly serverKills: number;
  readonly missed: readonly string[];
  /** Sessions that the client could not play. */
  readonly failures: readonly string[];
  readonly verified: readonly Verified[];
  readonly strays: { readonly sent: number; readonly violations: readonly string[] };
  readonly logs: LogFindings;
  readonly seconds: { readonly harmed: number; readonly settled: number; readonly longestStart: number };
}

export function reportOf(findings: Findings): ChaosReport {
  const { options, counts, serverKills, missed, failures, verified, strays, logs, seconds } = findings;
  const violations = [
    ...failures,
    ...verified.flatMap((session) => session.violations),
    ...strays.violations,
  ];
  const endings = addUp(verified.map((session) => session.endings));
  return {
    passed: violations.length === 0 && missed.length === 0 && logs.ends.length === 0,
    seed: options.seed,
    nodes: options.nodes,
    kills: { total: total(counts.byService), ...counts },
    serverKills,
    missedFailpoints: missed,
    sessions: verified.length,
    runs: sum(verified.map(({ runs }) => runs)),
    ends: addUp(verified.map(({ end }) => ({ [end]: 1 }))),
    intents: sum(verified.map(({ intents }) => intents)),
    endings,
    indeterminate: endings.indeterminate ?? 0,
    lateFacts: sum(verified.map(({ lateFacts }) => lateFacts)),
    effects: sum(verified.map(({ effects }) => effects)),
    strays: strays.sent,
    violations,
    unexpectedEnds: logs.ends,
    loggedErrors: logs.errors,
    seconds: {
      harmed: round(seconds.harmed),
      settled: round(seconds.settled),
      longestStart: round(seconds.longestStart),
    },
  };
}

function addUp(counts: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const all: Record<string, number> = {};
  for (const [key, count] of counts.flatMap((one) => Object.entries(one))) all[key] = (all[key] ?? 0) + count;
  return all;
}

function total(counts: Readonly<Record<string, number>>): number {
  return sum(Object.values(counts));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((so, number) => so + number, 0);
}

function round(seconds: number): number {
  return Math.round(seconds * 10) / 10;
}

/** Reads the examples of `contracts/corpus`. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const CORPUS_DIR = join(import.meta.dirname, '..', 'corpus');

export type Verdict = 'accept' | 'reject';

/** One example. `path` is relative to the corpus, with `/`. */
export interface Example {
  readonly path: string;
  /** Event type, or the name of the RPC or signal. */
  readonly name: string;
  readonly version: number;
  readonly verdict: Verdict;
  readonly json: unknown;
}

export interface RpcExample extends Example {
  readonly side: 'request' | 'reply';
}

/** `<type>/v<n>/<verdict>/*.json` */
export function eventExamples(): Example[] {
  return examplesOf(eventFolders().map((name) => [name, name]));
}

/** `signals/<name>/v<n>/<verdict>/*.json` */
export function signalExamples(): Example[] {
  return examplesOf(folders('signals').map((name) => [name, `signals/${name}`]));
}

/** `rpc/<name>/v<n>/<side>/<verdict>/*.json` */
export function rpcExamples(): RpcExample[] {
  const sides = ['request', 'reply'] as const;
  return folders('rpc').flatMap((name) =>
    versions(`rpc/${name}`).flatMap((version) =>
      sides.flatMap((side) =>
        verdictsIn(name, version, `rpc/${name}/v${version}/${side}`).map((it) => ({ ...it, side })),
      ),
    ),
  );
}

/** The folders that should be event types. */
export function eventFolders(): string[] {
  return folders('.').filter((name) => name !== 'rpc' && name !== 'signals');
}

export function folders(path: string): string[] {
  return readdirSync(join(CORPUS_DIR, path), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort();
}

/** The numbers of the `v<n>` folders. Throws for a folder of another name. */
export function versions(path: string): number[] {
  return folders(path).map((folder) => {
    const number = /^v([1-9][0-9]*)$/.exec(folder)?.[1];
    if (!number) throw new Error(`corpus/${path}/${folder} is not a version`);
    return Number(number);
  });
}

function examplesOf(named: readonly (readonly [string, string])[]): Example[] {
  return named.flatMap(([name, path]) =>
    versions(path).flatMap((version) => verdictsIn(name, version, `${path}/v${version}`)),
  );
}

function verdictsIn(name: string, version: number, path: string): Example[] {
  const verdicts: readonly Verdict[] = ['accept', 'reject'];
  return verdicts.flatMap((verdict) =>
    readdirSync(join(CORPUS_DIR, path, verdict))
      .filter((file) => file.endsWith('.json'))
      .sort()
      .map((file) => {
        const at = `${path}/${verdict}/${file}`;
        return { path: at, name, version, verdict, json: readJson(at) };
      }),
  );
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(join(CORPUS_DIR, path), 'utf8'));
}

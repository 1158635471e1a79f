/** What can be searched for. Messages between the executor and its search thread, so plain data only. */
import type { Workspace } from '../workspace/paths.ts';

export interface GlobRequest {
  readonly kind: 'glob';
  readonly workspace: Workspace;
  /** Where to begin, below the workspace; `''` for all of it. */
  readonly from: string;
  /** Matched against the path below `from`. */
  readonly pattern: string;
  readonly limit: number;
}

export interface GrepRequest {
  readonly kind: 'grep';
  readonly workspace: Workspace;
  /** A directory or a file, below the workspace. */
  readonly from: string;
  readonly fromIsFile: boolean;
  /** A JavaScript regular expression with the flag `u`, or without where that does not compile. */
  readonly pattern: string;
  readonly ignoreCase: boolean;
  readonly glob: string | null;
  readonly limit: number;
  /** Bytes of all hits together. */
  readonly maxBytes: number;
}

/** Lines of a text that was given. */
export interface TextRequest {
  readonly kind: 'text';
  readonly text: string;
  readonly pattern: string;
  readonly limit: number;
  readonly maxBytes: number;
}

export type SearchRequest = GlobRequest | GrepRequest | TextRequest;

export interface SearchReply {
  /** One a hit. `path:line:text` for grep, `line:text` for text, the path for glob. */
  readonly lines: readonly string[];
  /** Hits there are, as far as was looked. */
  readonly total: number;
  /** True when the search ended before everything was looked at. */
  readonly cut: boolean;
  readonly filesSearched: number;
  readonly ignored: number;
  readonly unreadable: number;
  /** Files that matched or would have, and are not text. */
  readonly binary: number;
  /** Files too large to be searched. */
  readonly tooLarge: readonly string[];
}

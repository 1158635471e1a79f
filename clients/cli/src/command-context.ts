import type { ExitCode } from './exit-codes.ts';
import type { Settings } from './settings.ts';
import type { Terminal } from './terminal.ts';

/** What every command gets. */
export interface CommandContext {
  readonly terminal: Terminal;
  readonly settings: Settings;
  readonly json: boolean;
  /** Ends the command with this code once its output is flushed. */
  exit(code: ExitCode): void;
}

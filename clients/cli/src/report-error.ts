/** What is printed of an error, and what it ends the command with. */
import { ERRORS } from '@interlock/contracts';
import { CommanderError } from 'commander';
import { CliError, exitCodeOf } from './cli-error.ts';
import type { ExitCode } from './exit-codes.ts';
import type { Terminal } from './terminal.ts';

/** One line for people on stderr, or one `{"type":"error"}` line on stdout: code, what is wrong, what to do. */
export function reportError(error: unknown, json: boolean, terminal: Terminal): ExitCode {
  const code = codeOf(error);
  const message = messageOf(error, code);
  if (json) terminal.out(JSON.stringify({ type: 'error', code, message }));
  else terminal.note(`interlock: ${message} (${code})`);
  if (code === 'internal' && error instanceof Error && error.stack) terminal.note(error.stack);
  return error instanceof CliError ? error.exitCode : exitCodeOf(code);
}

function codeOf(error: unknown): string {
  if (error instanceof CommanderError) return 'usage';
  if (typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string')
    return error.code;
  return 'internal';
}

function messageOf(error: unknown, code: string): string {
  if (error instanceof CommanderError) return `${usageError(error)} ${ERRORS.usage.advice}`;
  const text = error instanceof Error ? error.message : String(error);
  const advice = Object.hasOwn(ERRORS, code) ? ERRORS[code as keyof typeof ERRORS].advice : '';
  return advice === '' || text.includes(advice) ? text : `${text}: ${advice}`;
}

/** Commander's sentence; a command without its subcommand has none. */
function usageError(error: CommanderError): string {
  if (error.code === 'commander.help') return 'No command was given.';
  return `${error.message
    .replace(/^error: /, '')
    .replaceAll('\n', ' ')
    .replace(/\.?$/, '.')}`;
}

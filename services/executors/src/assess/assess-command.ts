/**
 * What a command line would do, from its text alone. Pure.
 *
 * M1. Only a line that is one simple command with literal arguments is judged; anything else is `unknown`.
 * M2. What is not in the tables is `unknown`, which is asked about: a wrong answer can only be a needless question.
 */
import type { Assessment, Effect } from '@interlock/contracts';
import { isSecretPath } from '../workspace/secrets.ts';
import {
  GIT_LISTS,
  GIT_READERS,
  GIT_WRITERS,
  NPX_TOOLS,
  PROJECT_COMMANDS,
  PROJECT_REFUSED,
  PROJECT_SCRIPTS,
  READERS,
  READS_NO_FILES,
  VERSION_FLAGS,
  VERSION_PROGRAMS,
} from './programs.ts';
import { literalWords } from './words.ts';

type Kind = 'reader' | 'project' | 'unknown';

/**
 * Judges a line.
 * @param cwd absolute path of the workspace, where the line starts
 */
export function assessCommand(command: string, cwd: string): Assessment {
  const words = literalWords(command);
  const program = words?.[0] ?? command.trim().split(/\s+/)[0] ?? '';
  const kind = words ? kindOf(words) : 'unknown';
  const paths =
    words && kind !== 'unknown' && !READS_NO_FILES.has(program) ? pathsOf(words.slice(1), cwd) : [];
  const effects = effectsOf(kind, paths);
  return {
    effects,
    paths,
    hosts: [],
    commands: [{ text: command, program, effects }],
    confidence: kind === 'unknown' ? 'unknown' : 'certain',
    summary: command.length > 200 ? `${command.slice(0, 200)}…` : command,
    preview: command,
  };
}

function effectsOf(kind: Kind, paths: Assessment['paths']): Effect[] {
  if (kind === 'unknown') return ['unknown'];
  const effects: Effect[] = [kind === 'reader' ? 'read-only' : 'runs-project-code'];
  if (paths.some(({ inside }) => !inside)) effects.push('reads-outside');
  if (paths.some(({ path, real }) => isSecretPath(path) || isSecretPath(real))) effects.push('reads-secrets');
  return effects;
}

function kindOf(words: readonly string[]): Kind {
  const [program = '', ...args] = words;
  if (args.length === 1 && VERSION_PROGRAMS.has(program) && VERSION_FLAGS.has(args[0] ?? '')) return 'reader';
  if (program === 'git') return gitKind(args);
  const reader = Object.hasOwn(READERS, program) ? READERS[program] : undefined;
  if (reader) return args.some((arg) => reader.refused?.test(arg)) ? 'unknown' : 'reader';
  return isProjectCommand(program, args) ? 'project' : 'unknown';
}

/** Options before the subcommand may name another repository or another program: only the harmless two are read over. */
function gitArguments(args: readonly string[]): { readonly name: string; readonly rest: readonly string[] } {
  const at = args.findIndex((arg) => arg !== '--no-pager' && arg !== '-P');
  return { name: args[at] ?? '', rest: at < 0 ? [] : args.slice(at + 1) };
}

function gitKind(args: readonly string[]): Kind {
  const { name, rest } = gitArguments(args);
  if (Object.hasOwn(GIT_LISTS, name)) {
    const listed = GIT_LISTS[name];
    const lists = rest.every((arg) => listed?.has(arg)) && (rest.length > 0 || name !== 'stash');
    return lists ? 'reader' : 'unknown';
  }
  if (!Object.hasOwn(GIT_READERS, name)) return 'unknown';
  const refused = GIT_READERS[name];
  return rest.some((arg) => refused?.test(arg)) ? 'unknown' : 'reader';
}

/** True for one plain git command that writes the repository. Such a line, once approved, may write `.git`. */
export function isGitWrite(command: string): boolean {
  const words = literalWords(command);
  return words?.[0] === 'git' && GIT_WRITERS.has(gitArguments(words.slice(1)).name);
}

function isProjectCommand(program: string, args: readonly string[]): boolean {
  if (args.some((arg) => PROJECT_REFUSED.test(arg))) return false;
  const [first = '', second = ''] = args;
  switch (program) {
    case 'npm':
      return isNpmScript(args.filter((arg) => arg !== '-s' && arg !== '--silent'));
    case 'pnpm':
    case 'yarn':
    case 'bun':
      return first === 'run' ? PROJECT_SCRIPTS.test(second) : first === 'test' || PROJECT_SCRIPTS.test(first);
    case 'npx':
      return NPX_TOOLS.has(first) && (first !== 'tsc' || args.includes('--noEmit'));
    case 'node':
      return first === '--test' || first === '--check';
    case 'pytest':
      return true;
    case 'python':
    case 'python3':
      return first === '-m' && (second === 'pytest' || second === 'unittest');
    case 'tsc':
      return args.includes('--noEmit');
    case 'vitest':
    case 'jest':
    case 'eslint':
      return true;
    default:
      return Object.hasOwn(PROJECT_COMMANDS, program) && PROJECT_COMMANDS[program]?.test(first) === true;
  }
}

function isNpmScript([first = '', second = '']: readonly string[]): boolean {
  if (first === 'test' || first === 't' || first === 'tst') return true;
  return (first === 'run' || first === 'run-script') && PROJECT_SCRIPTS.test(second);
}

/** Arguments that may be paths, as the shell's working directory makes them. */
function pathsOf(args: readonly string[], cwd: string): Assessment['paths'] {
  return args.flatMap((arg) => {
    const path = pathIn(arg);
    if (path === null) return [];
    const real = lexical(path, cwd);
    return [{ path, real, access: 'read' as const, inside: real === cwd || real.startsWith(`${cwd}/`) }];
  });
}

/** The part of an argument that may be a path; null for an option without one. */
function pathIn(arg: string): string | null {
  if (!arg.startsWith('-')) return arg === '' ? null : arg;
  const value = /^--[^=]+=(.+)$/.exec(arg)?.[1];
  if (value !== undefined) return value;
  const slash = arg.search(/\/|\.\./);
  return slash < 0 ? null : arg.slice(slash);
}

function lexical(path: string, cwd: string): string {
  const parts: string[] = [];
  for (const part of (path.startsWith('/') ? path : `${cwd}/${path}`).split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return `/${parts.join('/')}`;
}

/** The environment of a command: made up from a list of names, never taken over. Pure. */

/** Where the home directory of a command is. It is empty, and gone with the command. */
export const SANDBOX_HOME = '/home/dev';

export interface EnvironmentOptions {
  /** Directories of programs that the command can see, in order. */
  readonly path: readonly string[];
  readonly home: string;
  /** Where a person's git hooks and programs named by a repository's configuration must not run by a mere read. */
  readonly workspace: string;
}

/** Every variable that a command sees. */
export function commandEnvironment({ path, home, workspace }: EnvironmentOptions): Record<string, string> {
  return {
    PATH: path.join(':'),
    HOME: home,
    USER: 'dev',
    LOGNAME: 'dev',
    SHELL: '/bin/bash',
    LANG: 'C.UTF-8',
    TERM: 'dumb',
    NO_COLOR: '1',
    TMPDIR: '/tmp',
    PAGER: 'cat',
    ...gitEnvironment(workspace),
  };
}

/** Git asks nobody, locks nothing for a read, and starts no program that the repository's configuration names. */
function gitEnvironment(workspace: string): Record<string, string> {
  const settings = [
    ['core.fsmonitor', 'false'],
    ['core.pager', 'cat'],
    ['safe.directory', workspace],
  ];
  const numbered = settings.flatMap(([key = '', value = ''], index) => [
    [`GIT_CONFIG_KEY_${index}`, key],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ]);
  return {
    GIT_PAGER: 'cat',
    GIT_TERMINAL_PROMPT: '0',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_CONFIG_COUNT: String(settings.length),
    ...Object.fromEntries(numbered),
  };
}

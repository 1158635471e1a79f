/** Programs whose use can be judged from their arguments alone: a short list, on purpose. Pure. */

/** How a reader's arguments are judged. */
export interface Reader {
  /** Options that make it write, run something or take its arguments from elsewhere. Matched at the start of a word. */
  readonly refused: RegExp | null;
}

const plain: Reader = { refused: null };

export const READERS: Readonly<Record<string, Reader>> = {
  basename: plain,
  cat: plain,
  cksum: plain,
  cmp: plain,
  cut: plain,
  diff: plain,
  dirname: plain,
  du: { refused: /^(-X|--exclude-from|--files0-from)/ },
  echo: plain,
  egrep: { refused: /^(-[A-Za-z]*f|--file)/ },
  false: plain,
  fgrep: { refused: /^(-[A-Za-z]*f|--file)/ },
  file: { refused: /^(-C|--compile|-[a-z]*[fm]|--files-from|--magic-file|-z|-Z|--uncompress)/ },
  find: { refused: /^-(delete|exec|execdir|ok|okdir|fprint|fprint0|fprintf|fls|files0-from)/ },
  grep: { refused: /^(-[A-Za-z]*f|--file)/ },
  head: plain,
  id: plain,
  ls: plain,
  md5sum: { refused: /^(-c|--check)/ },
  nl: plain,
  pwd: plain,
  realpath: plain,
  rg: { refused: /^(--pre|--hostname-bin|-[A-Za-z]*z|--search-zip|-[A-Za-z]*f|--file|--ignore-file)/ },
  sha1sum: { refused: /^(-c|--check)/ },
  sha256sum: { refused: /^(-c|--check)/ },
  sort: {
    refused:
      /^(-[A-Za-z]*[oTS]|--output|--compress-program|--files0-from|--temporary-directory|--random-source)/,
  },
  stat: plain,
  tail: { refused: /^(-[A-Za-z]*[fF]|--follow|--retry)/ },
  tree: { refused: /^(-[A-Za-z]*[oR]|--fromfile|--gitfile|--infofile)/ },
  true: plain,
  uname: plain,
  wc: { refused: /^--files0-from/ },
  which: plain,
  whoami: plain,
};

/** Their arguments are words, not files. */
export const READS_NO_FILES: ReadonlySet<string> = new Set([
  'basename',
  'dirname',
  'echo',
  'false',
  'pwd',
  'true',
  'which',
]);

/** Subcommands of git that read, and what makes one of them more than a reader. */
export const GIT_READERS: Readonly<Record<string, RegExp | null>> = {
  blame: /^--(contents|ignore-revs-file)/,
  describe: null,
  diff: /^(-O|--output|--ext-diff|--textconv|--no-index)/,
  log: /^(-O|--output|--ext-diff|--textconv|--show-signature)/,
  'ls-files': /^(-X|--exclude-from)/,
  'rev-parse': null,
  shortlog: /^--output/,
  show: /^(-O|--output|--ext-diff|--textconv|--show-signature)/,
  status: null,
};
/** Read only with exactly these arguments. */
export const GIT_LISTS: Readonly<Record<string, ReadonlySet<string>>> = {
  branch: new Set(['-a', '-v', '-vv', '-r', '--all', '--list', '--remotes', '--show-current']),
  remote: new Set(['-v', '--verbose']),
  stash: new Set(['list']),
  tag: new Set(['-l', '--list']),
};
/** Subcommands that write the repository as a person who approves them means it. */
export const GIT_WRITERS: ReadonlySet<string> = new Set([
  ...[
    'add',
    'am',
    'apply',
    'branch',
    'checkout',
    'cherry-pick',
    'clean',
    'commit',
    'gc',
    'init',
    'merge',
    'mv',
  ],
  ...[
    'notes',
    'rebase',
    'reset',
    'restore',
    'revert',
    'rm',
    'stash',
    'switch',
    'tag',
    'update-index',
    'worktree',
  ],
]);

/** Scripts of a package that are known to build, check or test it. */
export const PROJECT_SCRIPTS =
  /^(test|tests|lint|build|check|typecheck|type-check|types|format:check|compile|coverage|bench|ci|validate|verify)([:._-][A-Za-z0-9:._-]+)?$/;

/** Tools that `npx` runs from the project's own packages. */
export const NPX_TOOLS: ReadonlySet<string> = new Set([
  ...[
    'ava',
    'biome',
    'eslint',
    'jest',
    'knip',
    'mocha',
    'playwright',
    'prettier',
    'stylelint',
    'tap',
    'tsc',
    'vitest',
  ],
]);

/** Programs that only build, check or test, by their first argument. */
export const PROJECT_COMMANDS: Readonly<Record<string, RegExp>> = {
  cargo: /^(test|check|build|clippy|bench)$/,
  go: /^(test|vet|build)$/,
  make: /^(test|check|lint|build|all)$/,
  just: /^(test|check|lint|build)$/,
};

/** Arguments that turn such a program to something else. */
export const PROJECT_REFUSED = new RegExp(
  `^(${[
    '--(prefix|cwd|dir|directory|global|fix|write|registry|config|eval|exec|apply|unsafe|publish|package|call|require)',
    '--(import|loader|experimental-loader|rulesdir|plugin|out|target-dir|declarationDir|tsBuildInfoFile|reporter=|env)',
    '-(exec|toolexec|overlay|o|C|g|e|w|p|c|r)$',
    '--watch$',
  ].join('|')})`,
);

/** Shows the version and does nothing else. */
export const VERSION_PROGRAMS: ReadonlySet<string> = new Set([
  ...[
    'node',
    'npm',
    'npx',
    'pnpm',
    'yarn',
    'python',
    'python3',
    'pip',
    'cargo',
    'rustc',
    'go',
    'git',
    'make',
    'bash',
  ],
  ...['gcc', 'clang', 'java', 'javac', 'ruby', 'php', 'deno', 'bun', 'tsc', 'docker', 'jq', 'rg', 'cmake'],
]);
export const VERSION_FLAGS: ReadonlySet<string> = new Set(['--version', '-v', '-V', 'version']);

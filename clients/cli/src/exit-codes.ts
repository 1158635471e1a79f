/** Exit codes of every command. */
export const EXIT = {
  done: 0,
  error: 1,
  usage: 2,
  denied: 3,
  authentication: 4,
  waiting: 5,
  limit: 6,
  indeterminate: 7,
  diverged: 8,
  interrupted: 130,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

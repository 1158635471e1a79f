export { EXIT, type ExitCode } from './exit-codes.ts';
export { type RunResult, runResultSchema } from './run-result.ts';

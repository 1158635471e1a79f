/** For tests of any package: logs, samples and steps. Nothing of it is part of the product. */
export { canonicalJson, sha256Hex } from './canonical.ts';
export { type Example, eventExamples, type RpcExample, rpcExamples, signalExamples } from './corpus.ts';
export { type AppendOptions, LogBuilder, ulidOf } from './log-builder.ts';
export { READ_FILE, sample, sha, toolCall, WRITE_FILE } from './samples.ts';
export { modelTurn, startRun, takeCall } from './steps.ts';

/**
 * `npm run chaos -- [--kills 200] [--seed N] [--nodes 1|3] [--server-kills 0] [--sessions 24] [--gap-ms 500] [--json]`
 *
 * Progress on stderr, the report on stdout (on one line with `--json`). Exit code 0 when every invariant held, 1 when
 * one did not, 2 for wrong arguments.
 */
import { parseArgs } from 'node:util';
import { type ChaosOptions, runChaos } from './chaos.ts';

const USAGE = `usage: chaos [--kills N] [--seed N] [--nodes 1|3] [--server-kills N] [--sessions N]
             [--gap-ms N, mean time between two random kills] [--settle-ms N] [--json]`;

const parsed = parse();
if (parsed === null) {
  process.stderr.write(`${USAGE}\n`);
  process.exitCode = 2;
} else {
  const { json, ...options } = parsed;
  process.stderr.write(`seed ${options.seed}\n`);
  const report = await runChaos({ ...options, progress: (text) => void process.stderr.write(`${text}\n`) });
  process.stdout.write(`${JSON.stringify(report, null, json ? 0 : 2)}\n`);
  process.exitCode = report.passed ? 0 : 1;
}

function parse(): (Omit<ChaosOptions, 'progress'> & { readonly json: boolean }) | null {
  const values = valuesOf();
  if (values === null) return null;
  const nodes = values.nodes === '3' ? 3 : 1;
  const numbers = {
    kills: Number(values.kills),
    seed: values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed),
    serverKills: Number(values['server-kills']),
    sessions: Number(values.sessions),
    gapMs: Number(values['gap-ms']),
    settleMs: Number(values['settle-ms']),
  };
  const isWhole = (value: number): boolean => Number.isSafeInteger(value) && value >= 0;
  const isRight = Object.values(numbers).every(isWhole) && ['1', '3'].includes(values.nodes);
  return isRight ? { ...numbers, nodes, json: values.json } : null;
}

function valuesOf() {
  try {
    return parseArgs({
      options: {
        kills: { type: 'string', default: '200' },
        seed: { type: 'string' },
        nodes: { type: 'string', default: '1' },
        'server-kills': { type: 'string', default: '0' },
        sessions: { type: 'string', default: '24' },
        'gap-ms': { type: 'string', default: '500' },
        'settle-ms': { type: 'string', default: '180000' },
        json: { type: 'boolean', default: false },
      },
    }).values;
  } catch {
    // The usage line says what there is.
    return null;
  }
}

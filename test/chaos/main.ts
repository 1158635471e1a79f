/**
 * `npm run chaos -- [--kills 200] [--seed N] [--nodes 1|3] [--sessions 12] [--gap-ms 500] [--json]`
 *
 * Progress on stderr, the report on stdout (on one line with `--json`). Exit code 0 when every invariant held, 1 when
 * one did not, 2 for wrong arguments.
 */
import { parseArgs } from 'node:util';
import { runChaos } from './chaos.ts';

const USAGE =
  'usage: chaos [--kills N] [--seed N] [--nodes 1|3] [--sessions N] [--gap-ms N] [--settle-ms N] [--json]';

const options = parse();
if (options === null) {
  process.stderr.write(`${USAGE}\n`);
  process.exitCode = 2;
} else {
  process.stderr.write(`seed ${options.seed}\n`);
  const report = await runChaos({ ...options, progress: (text) => void process.stderr.write(`${text}\n`) });
  process.stdout.write(`${JSON.stringify(report, null, options.json ? 0 : 2)}\n`);
  process.exitCode = report.passed ? 0 : 1;
}

function parse() {
  try {
    const { values } = parseArgs({
      options: {
        kills: { type: 'string', default: '200' },
        seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
        nodes: { type: 'string', default: '1' },
        sessions: { type: 'string', default: '12' },
        'gap-ms': { type: 'string', default: '500' },
        'settle-ms': { type: 'string', default: '180000' },
        json: { type: 'boolean', default: false },
      },
    });
    const nodes = values.nodes === '3' ? 3 : values.nodes === '1' ? 1 : null;
    if (nodes === null) return null;
    const [kills = 0, seed = 0, sessions = 0, gapMs = 0, settleMs = 0] = [
      values.kills,
      values.seed,
      values.sessions,
      values['gap-ms'],
      values['settle-ms'],
    ].map((text) => (/^[0-9]+$/.test(text) ? Number(text) : Number.NaN));
    if (![kills, seed, sessions, gapMs, settleMs].every(Number.isSafeInteger)) return null;
    return { kills, seed, sessions, gapMs, settleMs, nodes, json: values.json } as const;
  } catch {
    // Said by the usage line.
    return null;
  }
}

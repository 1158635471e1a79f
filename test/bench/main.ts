/**
 * `npm run bench [-- --seconds N --rounds N --levels 1,16,64 --mode processes|in-process --json --write]`
 *
 * Governed calls beside the broker's floor in one run, in turns, so that a noisy machine disturbs both alike.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { cpuSeconds } from './cpu.ts';
import { type Load, startFloor } from './floor.ts';
import { APPENDS_PER_CALL } from './floor-roles.ts';
import { type GovernedLoad, startGoverned } from './governed.ts';
import { figuresOf, median } from './statistics.ts';

interface Row {
  readonly sessions: number;
  readonly callsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly cpuMsPerCall: number;
}

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '3' },
    levels: { type: 'string', default: '1,16,64' },
    mode: { type: 'string', default: 'processes' },
    json: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const PAGE = join(import.meta.dirname, '..', '..', 'docs', 'benchmarks.md');
const FINDINGS = readFileSync(join(import.meta.dirname, 'findings.md'), 'utf8');

const note = (text: string): void => void process.stderr.write(`${text}\n`);
const out = (text: string): void => void process.stdout.write(`${text}\n`);

if (values.help) {
  out(
    'npm run bench -- [--seconds 4] [--rounds 3] [--levels 1,16,64] [--mode processes|in-process] [--json] [--write]',
  );
  process.exit(0);
}
const mode = values.mode === 'in-process' ? 'in-process' : 'processes';
const levels = values.levels.split(',').map(Number);
const seconds = Number(values.seconds);
const rounds = Number(values.rounds);

note(`starting a house (${mode})`);
const governed = await startGoverned(mode);
// Compilers need some thousand calls before a service runs as it does in daily use.
note('warming up');
await governed.measure(16, 12);
const payload = await bytesPerEvent(governed);
note(`starting the floor: ${APPENDS_PER_CALL} appends and as many deliveries a call, ${payload} bytes each`);
const floor = await startFloor(payload);
try {
  const table = [];
  for (const sessions of levels) table.push(await level(sessions));
  const long = await governed.longSession(200);
  report(table, long, payload);
} finally {
  await floor.stop();
  await governed.stop();
}

async function bytesPerEvent(load: GovernedLoad): Promise<number> {
  const { bytes, messages } = await load.logSize();
  return Math.round(bytes / messages);
}

async function level(sessions: number): Promise<{ ours: Row; floor: Row; bytesPerCall: number }> {
  const ours: Row[] = [];
  const bare: Row[] = [];
  const bytes: number[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    note(`${sessions} sessions at once, round ${round} of ${rounds}`);
    const before = await governed.logSize();
    ours.push(await row(governed, sessions));
    const after = await governed.logSize();
    bytes.push(
      (after.bytes - before.bytes) / Math.max(1, (after.messages - before.messages) / APPENDS_PER_CALL),
    );
    bare.push(await row(floor, sessions));
  }
  return { ours: middle(ours), floor: middle(bare), bytesPerCall: Math.round(median(bytes)) };
}

async function row(load: Load, sessions: number): Promise<Row> {
  const cpuBefore = cpuSeconds(load.pids);
  const started = performance.now();
  const sample = await load.measure(sessions, seconds);
  const elapsed = (performance.now() - started) / 1000;
  const cpu = cpuSeconds(load.pids) - cpuBefore;
  const { p50, p99 } = figuresOf(sample.latencies);
  const callsPerSecond = sample.calls / sample.seconds;
  // CPU is read over the whole stretch, warm-up and end included; so are the calls it is divided by.
  return {
    sessions,
    callsPerSecond,
    p50Ms: p50,
    p99Ms: p99,
    cpuMsPerCall: (cpu * 1000) / (callsPerSecond * elapsed),
  };
}

function middle(rows: readonly Row[]): Row {
  const of = (pick: (row: Row) => number): number => median(rows.map(pick));
  return {
    sessions: rows[0]?.sessions ?? 0,
    callsPerSecond: of((one) => one.callsPerSecond),
    p50Ms: of((one) => one.p50Ms),
    p99Ms: of((one) => one.p99Ms),
    cpuMsPerCall: of((one) => one.cpuMsPerCall),
  };
}

interface LongSession {
  readonly calls: number;
  readonly firstMs: number;
  readonly lastMs: number;
  readonly bytesPerCall: number;
}

interface Level {
  readonly ours: Row;
  readonly floor: Row;
  readonly bytesPerCall: number;
}

function report(
  table: readonly Level[],
  session: { latencies: readonly number[]; bytes: number },
  payloadBytes: number,
): void {
  const { latencies, bytes } = session;
  const long: LongSession = {
    calls: latencies.length,
    firstMs: median(latencies.slice(0, 20)),
    lastMs: median(latencies.slice(-20)),
    bytesPerCall: Math.round(bytes / latencies.length),
  };
  if (values.json) {
    for (const entry of table) out(JSON.stringify({ type: 'level', mode, payloadBytes, ...entry }));
    out(JSON.stringify({ type: 'long-session', ...long }));
  } else out(toMarkdown(table, long));
  if (values.write) writeFileSync(PAGE, pageOf(toMarkdown(table, long), payloadBytes));
}

function toMarkdown(table: readonly Level[], long: LongSession): string {
  const head = [
    '| sessions | calls/s | floor | ratio | p50 ms | floor | ratio | p99 ms | floor | CPU ms/call | floor | log bytes/call |',
    '|---|---|---|---|---|---|---|---|---|---|---|---|',
  ];
  const rows = table.map(({ ours, floor: bare, bytesPerCall }) => {
    const cells = [
      String(ours.sessions),
      ours.callsPerSecond.toFixed(0),
      bare.callsPerSecond.toFixed(0),
      (ours.callsPerSecond / bare.callsPerSecond).toFixed(2),
      ours.p50Ms.toFixed(1),
      bare.p50Ms.toFixed(1),
      (ours.p50Ms / bare.p50Ms).toFixed(1),
      ours.p99Ms.toFixed(1),
      bare.p99Ms.toFixed(1),
      ours.cpuMsPerCall.toFixed(1),
      bare.cpuMsPerCall.toFixed(1),
      String(bytesPerCall),
    ];
    return `| ${cells.join(' | ')} |`;
  });
  const { calls, firstMs, lastMs, bytesPerCall } = long;
  const tail = `One session of ${calls} calls: median of the first 20 calls ${firstMs.toFixed(1)} ms, of the last 20 ${lastMs.toFixed(1)} ms; ${bytesPerCall} log bytes a call.`;
  return [...head, ...rows, '', tail].join('\n');
}

function pageOf(body: string, payloadBytes: number): string {
  const machine = `${cpus().length} cores (${cpus()[0]?.model ?? 'unknown'}), Node ${process.versions.node}`;
  const date = new Date().toISOString().slice(0, 10);
  return `# Benchmarks
Written by \`npm run bench -- --write\` on ${date}: ${machine}, services ${mode === 'processes' ? 'each in its own process' : 'in one process'}, medians of ${rounds} rounds of ${seconds} s.

A governed call is one model turn with one tool call that does nothing: ${APPENDS_PER_CALL} appends on the log, each delivered to the services it concerns
and to the event-store. The *floor* is the same number of bare appends and deliveries of ${payloadBytes} bytes, in as many processes, with nothing
else to do; it is measured in turns with ours in the same run, so that a noisy machine disturbs both alike. Compare the ratios, not the numbers.

${body}

${FINDINGS}`;
}

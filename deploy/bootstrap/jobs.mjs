// What `node deploy/bootstrap/main.mjs <job>` can run, and what each job needs on the machine.
//   script      run by Node 24 with `args` and then whatever the person gave
//   needs       steps, in order; the first two are always taken
//   quiet       print only steps that did real work, because the job's output is what people read or parse
//   ownServers  starts NATS servers of its own, so a running one is no substitute for the program
//   try         steps that may fail without stopping the job

const house = ['nats-server', 'bubblewrap'];
const cli = 'clients/cli/src/main.ts';

export const jobs = {
  start: { script: cli, args: ['demo'], needs: house },
  dev: { script: cli, args: ['up', '--watch'], needs: house },
  // Several commands need no server, so a machine that can have none must still run them.
  interlock: { script: cli, args: [], needs: house, try: ['nats-server'], quiet: true },
  test: { script: 'deploy/scripts/test.ts', args: [], needs: house, ownServers: true },
  bench: { script: 'test/bench/main.ts', args: [], needs: house, ownServers: true },
  chaos: { script: 'test/chaos/main.ts', args: [], needs: house, ownServers: true },
  check: { script: 'deploy/scripts/check.ts', args: [], needs: [] },
  generate: { script: 'contracts/scripts/generate.ts', args: [], needs: [], quiet: true },
  build: { script: 'deploy/scripts/build.ts', args: [], needs: [], quiet: true },
};

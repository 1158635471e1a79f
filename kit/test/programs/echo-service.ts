/** A service of nothing, for tests of the shell: it counts inbox messages and can be told to fail. */
import { STREAMS } from '@interlock/contracts';
import { ack, appendSide, failpoint, runConsumer, runMain } from '../../src/index.ts';

await runMain('observer', async ({ bus, writer, logger, env, metrics }) => {
  if (env.ECHO_FAIL === '1') throw new Error('told to fail');
  const durable = { name: 'echo', stream: STREAMS.events, filters: ['ev.v1.*.*.u.>'] };
  const consumer = runConsumer(bus, {
    durable,
    metrics,
    handle: async ({ entry, logger: eventLogger }) => {
      if (entry.type !== 'user.message') return ack;
      eventLogger.info('echo');
      failpoint('before-effect', entry.type);
      const job = {
        intent: 'i1',
        job: 'j1',
        exitCode: 0,
        signal: null,
        durationMs: 1,
        effects: [],
        output: [],
      };
      const { tenant, session, id } = entry.envelope;
      await appendSide(bus, writer, { tenant, session }, { type: 'job.ended', data: job, causationid: id });
      return ack;
    },
  });
  logger.info('started');
  return { ready: () => consumer.bound(), stop: () => consumer.stop() };
});

import { expect, test } from 'vitest';
import { createLogger, eventLogger } from './log.ts';

function capture(): { lines: Record<string, unknown>[]; destination: { write(line: string): void } } {
  const lines: Record<string, unknown>[] = [];
  return { lines, destination: { write: (line) => void lines.push(JSON.parse(line)) } };
}

test('lines carry the service and the ids of the envelope', () => {
  const { lines, destination } = capture();
  const logger = createLogger({ service: 'validator', instance: '1', destination });
  eventLogger(logger, { tenant: 'local', session: 's1', type: 'tool.intent', id: 'id1', intent: 'i1' }).info(
    'hello',
  );
  expect(lines).toMatchObject([
    {
      service: 'validator',
      instance: '1',
      tenant: 'local',
      session: 's1',
      intent: 'i1',
      id: 'id1',
      msg: 'hello',
    },
  ]);
  expect(lines[0]?.time).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/);
});

test('secrets never reach a line', () => {
  const { lines, destination } = capture();
  const logger = createLogger({ destination });
  logger.info({
    apiKey: 'sk-1',
    headers: { authorization: 'Bearer sk-2', 'x-api-key': 'sk-3', accept: 'text' },
    config: { nats: { nkeySeed: 'sk-4', url: 'nats://x' }, privateKey: 'sk-5' },
    a: { b: { c: { password: 'sk-6', list: [{ Token: 'sk-7' }] } } },
    err: Object.assign(new Error('no'), { request: { headers: { Authorization: 'sk-8' } } }),
  });
  logger.child({ seed: 'sk-9' }).info('child');
  expect(JSON.stringify(lines)).not.toContain('sk-');
  expect(lines[0]).toMatchObject({
    headers: { accept: 'text' },
    config: { nats: { url: 'nats://x' } },
    err: { message: 'no', stack: expect.any(String) },
  });
  expect(lines[0]).not.toHaveProperty('service');
});

/** The AsyncAPI document holds, by the parser of its makers. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Parser } from '@asyncapi/parser';
import { DURABLES, EVENT_TYPES, EVENTS, RPCS, SIGNALS } from '@interlock/contracts';
import { describe, expect, test } from 'vitest';

const SOURCE = join(import.meta.dirname, '..', '..', 'contracts', 'asyncapi.yaml');
const TEXT = readFileSync(SOURCE, 'utf8');

const parse = (text: string): ReturnType<Parser['parse']> => new Parser().parse(text, { source: SOURCE });

describe('contracts/asyncapi.yaml', async () => {
  const { document, diagnostics } = await parse(TEXT);

  test('has no diagnostics of any severity', () => {
    expect(diagnostics).toEqual([]);
    expect(document?.version()).toBe('3.1.0');
  });

  test('has a message for each event, request, reply and signal', () => {
    const names = document?.allMessages().map((message) => message.name());
    for (const type of EVENT_TYPES) expect(names).toContain(type);
    for (const name of Object.keys(SIGNALS)) expect(names).toContain(name);
    for (const name of Object.keys(RPCS))
      for (const side of ['request', 'reply']) expect(names).toContain(`${name}.${side}`);
  });

  test('says who may append each event and who is woken by it', () => {
    const operations = new Set(document?.allOperations().map((operation) => operation.id()));
    for (const type of EVENT_TYPES) {
      for (const role of EVENTS[type].appendedBy) expect(operations).toContain(`${role}.appends.${type}`);
      expect(operations).toContain(`event-store.on.${type}`);
    }
    expect(operations).toContain('executor.on.tool.approval.allowed');
    const observed = [...operations].filter((id) => id?.startsWith('observer.on.'));
    expect(observed).toHaveLength(DURABLES.observer.filters.length);
  });

  test('has examples for each message of the log', () => {
    for (const message of document?.allMessages() ?? []) {
      if (message.name() !== 'tail')
        expect([message.name(), message.examples().length]).toEqual([message.name(), 2]);
    }
  });
});

test.each([
  ['a schema that is not there', 'events/tool.intent.v1.json', 'events/nothing.v1.json'],
  ['a channel that is not there', '#/channels/tool.intent', '#/channels/nothing'],
  ['a version that is not there', 'asyncapi: 3.1.0', 'asyncapi: 3.9.0'],
])('the parser still sees %s', async (_what, good, bad) => {
  expect(TEXT).toContain(good);
  const { diagnostics } = await parse(TEXT.replace(good, bad));
  expect(diagnostics.length).toBeGreaterThan(0);
});

import { isEvent, type ModelMessageV1, type ModelPart } from '@interlock/contracts';
import { LogBuilder, modelTurn, startRun, takeCall, toolCall } from '@interlock/contracts/testing';
import { describe, expect, test } from 'vitest';
import { missingIntents, nameCalls } from './intents.ts';

function answered(parts: ModelPart[]): { log: LogBuilder; message: ModelMessageV1 } {
  const log = new LogBuilder();
  startRun(log);
  modelTurn(log, parts);
  const entry = log.entries.at(-1);
  if (!entry || !isEvent(entry, 'model.message')) throw new Error('no message');
  return { log, message: entry.data };
}

describe('missingIntents', () => {
  test('none for a call of a cut answer, for text, or for what ran at the provider', () => {
    const { log, message } = answered([
      { type: 'text', text: 'hello' },
      { type: 'rejected_call', intent: 'r1', tool: 'bash', raw: '{', why: 'cut', providerRef: 'x' },
      { type: 'provider', kind: 'server_tool_use', carry: { issuer: 'i', value: {} } },
    ]);
    expect(missingIntents(log.state(), message)).toEqual([]);
  });

  test('none for a call whose lane moved on, a withdrawn one included', () => {
    const { log, message } = answered([toolCall('a'), toolCall('b'), toolCall('c')]);
    takeCall(log, 'a', 'proposed');
    takeCall(log, 'b', 'cancelled');
    expect(missingIntents(log.state(), message).map(({ intent }) => intent)).toEqual(['c']);
  });

  test('each names the message it derives from', () => {
    const call = { ...toolCall('a'), reason: 'to know', expect: 'text' };
    const { log, message } = answered([call]);
    const { provider, model, contextSnapshotId } = message;
    expect(missingIntents(log.state(), message)).toEqual([
      {
        intent: 'a',
        tail: log.tail('i', 'a'),
        data: {
          tool: 'read_file',
          rawInput: { path: 'README.md' },
          inputFormat: 'json',
          reason: 'to know',
          expect: 'text',
          proposer: 'model',
          providerRef: 'ref-a',
          provider,
          model,
          contextSnapshotId,
        },
      },
    ]);
  });

  test('a lane with a stray on it is continued behind the stray', () => {
    const { log, message } = answered([toolCall('a')]);
    log.junk('i', 'a');
    expect(missingIntents(log.state(), message)[0]?.tail).toEqual(log.tail('i', 'a'));
  });
});

test('every call gets an id of its own, whatever the provider calls it', () => {
  let next = 0;
  const call = {
    type: 'tool_call',
    tool: 't',
    rawInput: {},
    inputFormat: 'json',
    providerRef: 'call_0',
  } as const;
  const cut = { type: 'rejected_call', tool: 't', raw: '', why: 'cut', providerRef: 'call_0' } as const;
  const named = nameCalls([call, { type: 'text', text: 'x' }, call, cut], () => `id-${++next}`);
  expect(named).toMatchObject([{ intent: 'id-1' }, { type: 'text' }, { intent: 'id-2' }, { intent: 'id-3' }]);
});

import { sample } from '@interlock/contracts/testing';
import { expect, test } from 'vitest';
import { projectSuperseded } from './superseded.ts';

const result = {
  tool: 'bash',
  ending: 'failed',
  code: 'exit_code',
  isError: true,
  parts: [{ label: 'untrusted', text: 'no' }],
  omittedBytes: 7,
  artifacts: [],
} as const;

test('the model is told who changed what, and gets the result of the edited call', () => {
  const proposal = {
    ...sample('tool.intent', { rawInput: { command: 'ls' }, proposer: 'person' }),
    supersedes: { intent: 'a', answerId: 'x', person: 'ada' },
  };
  const projection = projectSuperseded({
    by: 'b',
    result: { ...result, parts: [...result.parts], artifacts: [] },
    proposal: { ...proposal, rawInput: { command: 'ls' } },
  });
  expect(projection.parts).toMatchInlineSnapshot(`
    [
      {
        "label": "fact",
        "text": "ada edited this call. It did not run as proposed; the edited one (b) stands in its place.",
      },
      {
        "label": "fact",
        "text": "Edited input: {"command":"ls"}",
      },
      {
        "label": "fact",
        "text": "What follows is the result of the edited call.",
      },
      {
        "label": "untrusted",
        "text": "no",
      },
    ]
  `);
  expect(projection).toMatchObject({
    ending: 'failed',
    code: 'exit_code',
    isError: true,
    omittedBytes: 7,
    insteadOf: 'b',
  });
  expect(projection).not.toHaveProperty('tool');
});

test('without the proposal the result still stands', () => {
  const projection = projectSuperseded({
    by: 'b',
    result: { ...result, parts: [...result.parts], artifacts: [] },
    proposal: null,
  });
  expect(projection.parts.map(({ text }) => text).join(' ')).toContain('A person edited this call');
});

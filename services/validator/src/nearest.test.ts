import { expect, test } from 'vitest';
import { nearest } from './nearest.ts';

const TOOLS = [
  'read_file',
  'write_file',
  'edit_file',
  'list_dir',
  'glob',
  'grep',
  'bash',
  'mcp__github__create_issue',
];

test.each([
  ['readFile', 'read_file'],
  ['Read', 'read_file'],
  ['write-file', 'write_file'],
  ['grpe', 'grep'],
  ['create_issue', 'mcp__github__create_issue'],
  ['Bash', 'bash'],
  ['launch_rocket', null],
  ['', null],
  ['x'.repeat(10_000), null],
])('%s -> %s', (word, tool) => {
  expect(nearest(word, TOOLS)).toBe(tool);
});

test('nothing to choose from', () => {
  expect(nearest('bash', [])).toBeNull();
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sum } from '../src/sum.js';

test('adds two numbers', () => {
  assert.equal(sum(1, 2), 3);
});

test('adds numbers given as text', () => {
  assert.equal(sum('1', '2', 3), 6);
});

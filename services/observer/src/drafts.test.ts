import { PROJECTION, projectContext } from '@interlock/contracts';
import { READ_FILE, sample, sha, WRITE_FILE } from '@interlock/contracts/testing';
import { contextSnapshotId } from '@interlock/kit/pure';
import { expect, test } from 'vitest';
import { asked, says, started, stepIn } from '../test/given.ts';
import { finishDraft, requestDraft } from './drafts.ts';

test('a request names the context that a gateway will fold', () => {
  const log = started({ maxTurns: 3 });
  const state = log.state();
  const step = stepIn(state);
  if (step.kind !== 'request') throw new Error('not a request');
  const tools = [READ_FILE, WRITE_FILE];
  const draft = requestDraft(state, step, { throughSeq: state.throughSeq, tools });
  expect(draft).toMatchObject({
    type: 'model.requested',
    run: state.run?.id,
    turn: 1,
    data: { throughSeq: log.seq, projection: PROJECTION, because: 'next_turn', budgetLeft: { turns: 2 } },
  });
  const { data } = log.append('model.requested', draft.data);
  says(log, 'later');
  const later = log.state();
  const refolded = projectContext(later, { throughSeq: data.throughSeq, tools: later.tools });
  expect(contextSnapshotId(refolded)).toBe(data.contextSnapshotId);
});

test('own appends that were folded in ahead leave the context as it was', () => {
  const log = started();
  const before = log.state(log.seq - 1);
  const after = log.state();
  const context = (state: typeof after): string =>
    contextSnapshotId(projectContext(state, { throughSeq: before.throughSeq, tools: [] }));
  expect(context(after)).toBe(context(before));
});

test('the end of a run says what it used', () => {
  const log = asked();
  log.append('model.message', sample('model.message', { costUsd: 0.5, contextSnapshotId: sha('5') }));
  const state = log.state();
  const step = stepIn(state);
  if (step.kind !== 'finish') throw new Error('not an end');
  expect(finishDraft(state, step)).toMatchObject({
    type: 'run.finished',
    turn: 1,
    data: { reason: 'completed', turns: 1, costUsd: 0.5, usage: { output: 30 }, throughSeq: log.seq },
  });
});

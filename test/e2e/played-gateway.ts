/** A provider gateway played by the test, as another replica of the house's own: it takes over, answers and is gone. */
import { evolve, initialState, type ModelPart, sessionFilter } from '@interlock/contracts';
import { append, readRange } from '@interlock/kit';
import type { RuntimeContext } from '@interlock/runtime';
import type { TestHouse } from '../harness/house.ts';

/** Answers the open request of a session with these calls, by id, tool and input, and derives no intent from them. */
export async function answerAndVanish(
  house: TestHouse,
  { tenant }: RuntimeContext,
  session: string,
  calls: readonly { readonly intent: string; readonly tool: string; readonly input: unknown }[],
): Promise<void> {
  const [bus, writer] = await Promise.all([house.as('provider-gateway'), house.writer('provider-gateway')]);
  const log = await readRange(bus, { filter: sessionFilter(tenant, session), fromSeq: 1, leader: true });
  const { run, request, journal } = log.reduce(evolve, initialState(tenant, session));
  if (!request) throw new Error(`session ${session} has no open request`);
  const attempt = (request.attempt?.number ?? 0) + 1;
  const place = { tenant, session, lane: 's' } as const;
  const of = { run: run?.id, turn: request.turn, causationid: request.id };
  const { provider, model, contextSnapshotId } = request;
  const claim = await append(bus, writer, place, journal.tail, {
    ...of,
    type: 'model.attempt.started',
    data: { attempt, worker: 'provider-gateway/played', provider, model },
  });
  if (!claim.ok) throw new Error('the attempt was not taken');
  const parts = calls.map(
    ({ intent, tool, input }): ModelPart => ({
      ...{ type: 'tool_call', intent, tool, rawInput: input, inputFormat: 'json', providerRef: intent },
    }),
  );
  const answer = { stop: 'tool_calls', nativeStop: null, requestId: null } as const;
  const cost = { usage: null, costUsd: null, latencyMs: 1 };
  const message = await append(bus, writer, place, claim.tail, {
    ...of,
    type: 'model.message',
    data: { attempt, provider, model, contextSnapshotId, parts, ...answer, ...cost },
  });
  if (!message.ok) throw new Error('the answer was not taken');
}

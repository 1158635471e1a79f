/** People and the other services of the model: honest, and moody about when, whether and how they go on. */
import {
  type CallState,
  type ConversationState,
  type EventInput,
  type ModelPart,
  projectContext,
  runnable,
  type Stop,
  stopSchema,
} from '@interlock/contracts';
import { sample, toolCall } from '@interlock/contracts/testing';
import { contextSnapshotId } from '@interlock/kit/pure';
import type { World } from './model-world.ts';

/** Answers of a model in all; then it only ends its turns, so that every history has an end. */
const ANSWERS = 8;

export class Actors {
  readonly #world: World;
  #people: number;
  #answers = 0;
  #calls = 0;
  /** Who will never go on: a gateway that died with this request, a call whose pool or person is gone. */
  readonly #gone = new Set<string>();

  constructor(world: World, people: number) {
    this.#world = world;
    this.#people = people;
    world.append('session.opened', sample('session.opened', { budgets: this.#budgets() }));
  }

  #budgets(): EventInput<'session.opened'>['budgets'] {
    const { choose } = this.#world;
    return [{}, {}, { maxTurns: 2 }, { maxTokens: 400 }, { maxWallMs: 60_000 }][choose(5)] ?? {};
  }

  /** What could happen now. */
  moves(): (() => void)[] {
    const { state } = this.#world;
    return [
      ...(this.#people > 0 && !state.closed ? [() => this.#person()] : []),
      ...this.#gatewayMoves(state),
      ...Object.values(state.calls).flatMap((call) => this.#callMoves(state, call)),
    ];
  }

  /** A wait that only a person could end. */
  isWaitingForPeople(): boolean {
    const { state } = this.#world;
    return Object.values(state.calls).some((call) => call.stage === 'asked' && this.#gone.has(call.intent));
  }

  #person(): void {
    const { choose } = this.#world;
    this.#people -= 1;
    const kind = choose(12);
    if (kind === 0) this.#world.append('session.closed', sample('session.closed'));
    else if (kind < 4) this.#world.append('run.cancel', sample('run.cancel'));
    else this.#world.append('user.message', sample('user.message', { text: `message ${this.#people}` }));
  }

  #gatewayMoves({ request, run }: ConversationState): (() => void)[] {
    const world = this.#world;
    if (!request || this.#gone.has(request.id)) return [];
    if (!request.attempt) return [() => this.#claim()];
    const isTold = world.controls.some(({ requestId }) => requestId === request.id);
    const answer = (): void => this.#answer();
    if (!isTold) return [answer];
    const fail = (): void => {
      const category = 'model_cancelled';
      world.append('model.failed', sample('model.failed', { category, attempts: 1 }), { run: run?.id ?? '' });
    };
    // A gateway that hangs hears nothing: only then does the observer go on alone.
    const hang = (): void => void this.#gone.add(request.id);
    return [answer, fail, hang];
  }

  #claim(): void {
    const { state } = this.#world;
    const { request } = state;
    if (!request) return;
    const context = projectContext(state, { throughSeq: request.throughSeq, tools: state.tools });
    if (contextSnapshotId(context) !== request.contextSnapshotId) this.#world.faults.push('context_mismatch');
    this.#world.append('model.attempt.started', sample('model.attempt.started'));
  }

  #answer(): void {
    const { choose } = this.#world;
    this.#answers += 1;
    if (this.#answers > ANSWERS) {
      this.#world.append('model.message', sample('model.message', { stop: 'end_turn' }));
      return;
    }
    if (choose(10) === 0) {
      this.#world.append('model.failed', sample('model.failed'));
      return;
    }
    const stop: Stop =
      choose(2) === 0 ? 'tool_calls' : (stopSchema.options[choose(stopSchema.options.length)] ?? 'end_turn');
    this.#world.append('model.message', sample('model.message', { parts: this.#parts(stop), stop }));
  }

  #parts(stop: Stop): ModelPart[] {
    const { choose } = this.#world;
    const text: ModelPart = { type: 'text', text: 'so' };
    if (stop === 'max_tokens') {
      const cut: ModelPart = {
        type: 'rejected_call',
        intent: `cut${this.#calls++}`,
        tool: 'bash',
        raw: '{',
        why: stop,
        providerRef: 'r',
      };
      return choose(2) === 0 ? [text] : [text, cut];
    }
    const mayCall = stop === 'tool_calls' || stop === 'unknown' || stop === 'pause';
    const calls = mayCall ? choose(4) : 0;
    return [
      text,
      ...Array.from({ length: calls }, () =>
        toolCall(`call${this.#calls++}`, choose(3) === 0 ? 'write_file' : 'read_file'),
      ),
    ];
  }

  #callMoves(state: ConversationState, call: CallState): (() => void)[] {
    const world = this.#world;
    const { intent, tool } = call;
    const at = { intent, ...(call.run ? { run: call.run } : {}), ...(call.turn ? { turn: call.turn } : {}) };
    if (this.#gone.has(intent)) return [];
    const leave = (): void => void this.#gone.add(intent);
    const add =
      <Type extends Parameters<World['append']>[0]>(type: Type, data: EventInput<Type>) =>
      (): void =>
        void world.append(type, data, at);
    switch (call.stage) {
      case 'declared':
        return [add('tool.intent', sample('tool.intent', { tool })), () => world.junk('i', intent)];
      case 'proposed':
        return runnable(state).includes(call)
          ? [
              add('tool.validated', sample('tool.validated')),
              add('tool.validation_failed', sample('tool.validation_failed')),
            ]
          : [];
      case 'validated':
        return [
          this.#allow(call, at),
          this.#allow(call, at),
          add('tool.approval.asked', sample('tool.approval.asked')),
          add('tool.approval.denied', sample('tool.approval.denied')),
        ];
      case 'asked':
        return [
          this.#allow(call, at),
          () => this.#edit(call, at),
          add('tool.approval.denied', sample('tool.approval.denied', { kind: 'rejected' })),
          leave,
        ];
      case 'allowed':
        return [this.#start(call, at), this.#start(call, at), leave, this.#complete(call, at, 'refused')];
      case 'started':
        return [
          this.#complete(call, at, 'success'),
          this.#complete(call, at, 'failed'),
          leave,
          () => world.junk('i', intent),
        ];
      default:
        return [];
    }
  }

  #allow(call: CallState, at: object): () => void {
    return () => {
      const { invocation, ...rest } = sample('tool.approval.allowed');
      const expiresAt = new Date(this.#world.now + 60_000).toISOString();
      const data = { ...rest, invocation: { ...invocation, intent: call.intent, expiresAt } };
      this.#world.append('tool.approval.allowed', data, at);
    };
  }

  #start(_call: CallState, at: object): () => void {
    return () => {
      const leaseUntil = new Date(this.#world.now + 30_000).toISOString();
      this.#world.append('tool.execution.started', sample('tool.execution.started', { leaseUntil }), at);
    };
  }

  #complete(call: CallState, at: object, outcome: 'success' | 'failed' | 'refused'): () => void {
    const claimSeq = call.claim?.seq ?? null;
    return () =>
      void this.#world.append(
        'tool.execution.completed',
        sample('tool.execution.completed', { outcome, claimSeq }),
        at,
      );
  }

  /** Both lanes at once, as the policy engine does. */
  #edit({ intent }: CallState, at: object): void {
    const by = `edit${this.#calls++}`;
    const supersedes = { intent, answerId: 'x', person: 'ada' };
    this.#world.append(
      'tool.approval.denied',
      sample('tool.approval.denied', { kind: 'superseded', by }),
      at,
    );
    this.#world.append('tool.intent', sample('tool.intent', { proposer: 'person', supersedes }), {
      ...at,
      intent: by,
    });
  }
}

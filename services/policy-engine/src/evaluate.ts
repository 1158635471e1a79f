/** One decision: all engines on one call, with the policy and the grants as the registries have them. */
import type { Grounds, SessionOpenedV1, ToolDefinition, Verdict } from '@interlock/contracts';
import type { Bus, Clock } from '@interlock/kit';
import { editBehind } from './answer.ts';
import { bindingOf, groundsOf } from './binding.ts';
import type { Bundles } from './bundles.ts';
import type { Call } from './call.ts';
import type { PolicyConfig } from './config.ts';
import { decideEngines, type Outcome, settle } from './decide.ts';
import { evaluatePolicy } from './engines/native.ts';
import { askEngine } from './engines/remote.ts';
import { findGrant } from './grants.ts';
import type { Registries } from './registries.ts';
import type { Facts } from './rules/match.ts';
import type { Lane, PolicyState } from './state.ts';

export interface Judge {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly bundles: Bundles;
  readonly config: PolicyConfig;
}

export interface Evaluation {
  readonly outcome: Outcome;
  readonly verdicts: Verdict[];
  readonly grounds: Grounds;
  readonly bindingSha256: string;
}

export interface Matter {
  readonly state: PolicyState;
  readonly opened: SessionOpenedV1;
  readonly lane: Lane;
  readonly call: Call;
  readonly definition: ToolDefinition;
  readonly registries: Registries;
}

/** Decides on a call as it is now. Never throws for an engine's sake. */
export async function evaluate(judge: Judge, matter: Matter): Promise<Evaluation> {
  const { bus, bundles, config, clock } = judge;
  const { state, opened, lane, call, registries } = matter;
  const facts = factsOf(matter);
  const remote = config.policyEngines.map((engine) => askEngine(bus, engine, facts, config.engineDeadlineMs));
  const policy = await bundles.inForce(registries, opened.policies);
  const native = evaluatePolicy(policy, facts);
  const verdicts = [native.verdict, ...(await Promise.all(remote))];
  const ruling = decideEngines(verdicts, native.terms);
  const place = { session: state.conversation.session, opened, now: clock.now() };
  const outcome = settle(ruling, {
    edit: editBehind(state, lane),
    grant: findGrant(registries.tenant.grants, call, place),
  });
  const grounds = groundsOf(call, policy.digest, registries.seq);
  return { outcome, verdicts, grounds, bindingSha256: bindingOf(call.toolDigest, grounds) };
}

function factsOf({ state, opened, lane, call, definition }: Matter): Facts {
  const { tenant, session } = state.conversation;
  return {
    tenant,
    session,
    intent: lane.intent.envelope.intent ?? '',
    person: opened.person,
    mode: opened.mode,
    model: lane.intent.data.model ?? opened.model.model,
    tool: call.tool,
    readOnly: definition.readOnly,
    input: call.input,
    inputSha256: call.inputSha256,
    workspace: opened.workspace,
    assessment: call.assessment,
    sandboxLevel: call.sandboxLevel,
  };
}

/**
 * The registry of a tenant: a fold of its `sys` lane. Tools in force, policy bundles, grants, quarantined events.
 * The house-wide registry (tenant `-`) is the same fold of another lane; a tenant's tool of a name wins over the house's.
 */
import type { Layer } from '../approval/v1.ts';
import { EMPTY_LANE, type LaneTail } from '../conversation/state.ts';
import type { LogEntry, StoredEvent } from '../stored-event.ts';
import { parseEventSubject } from '../subjects.ts';
import type { ToolDefinition } from '../tools/v1.ts';
import type { GrantGivenV1, PolicyActivatedV1 } from './v1.ts';

export interface RegistryState {
  readonly tenant: string;
  readonly throughSeq: number;
  /** Last stored event of the lane, strays included. */
  readonly tail: LaneTail;
  /** Digest in force by tool name. */
  readonly tools: Readonly<Record<string, string>>;
  /** Every definition ever registered, by digest: a recorded call stays explainable. */
  readonly definitions: Readonly<Record<string, ToolDefinition>>;
  readonly policies: Readonly<Partial<Record<Layer, PolicyActivatedV1>>>;
  readonly grants: Readonly<Record<string, GrantGivenV1 & { readonly seq: number }>>;
  /** Sequences of quarantined messages. */
  readonly quarantined: readonly number[];
}

export function initialRegistry(tenant: string): RegistryState {
  return {
    tenant,
    throughSeq: 0,
    tail: EMPTY_LANE,
    tools: {},
    definitions: {},
    policies: {},
    grants: {},
    quarantined: [],
  };
}

/** Folds one entry of the lane, in stream order. Total. */
export function evolveRegistry(state: RegistryState, entry: LogEntry): RegistryState {
  if (entry.seq <= state.throughSeq) return state;
  const address = parseEventSubject(entry.subject);
  if (address?.lane !== 'sys' || address.tenant !== state.tenant) return { ...state, throughSeq: entry.seq };
  const moved = { ...state, throughSeq: entry.seq, tail: { seq: entry.seq, hash: entry.hash } };
  return chains(state, entry) ? apply(moved, entry) : moved;
}

function chains(state: RegistryState, entry: LogEntry): entry is StoredEvent {
  if (entry.type === 'unreadable') return false;
  return entry.envelope.prevseq === state.tail.seq && entry.envelope.prevhash === state.tail.hash;
}

function apply(state: RegistryState, event: StoredEvent): RegistryState {
  switch (event.type) {
    case 'tool.registered': {
      const { digest, definition } = event.data;
      return {
        ...state,
        tools: { ...state.tools, [definition.name]: digest },
        definitions: { ...state.definitions, [digest]: definition },
      };
    }
    case 'policy.activated':
      return { ...state, policies: { ...state.policies, [event.data.layer]: event.data } };
    case 'grant.given':
      return {
        ...state,
        grants: { ...state.grants, [event.data.grantId]: { ...event.data, seq: event.seq } },
      };
    case 'grant.revoked': {
      const { [event.data.grantId]: _gone, ...grants } = state.grants;
      return { ...state, grants };
    }
    case 'event.quarantined':
      return { ...state, quarantined: [...state.quarantined, event.data.seq] };
    default:
      return state;
  }
}

/** Tools in force for a tenant: its own over the house's. */
export function toolsInForce(
  house: RegistryState,
  tenant: RegistryState,
): readonly { digest: string; definition: ToolDefinition }[] {
  const digests = { ...house.tools, ...tenant.tools };
  return Object.keys(digests)
    .sort()
    .flatMap((name) => {
      const digest = digests[name] ?? '';
      const definition = tenant.definitions[digest] ?? house.definitions[digest];
      return definition ? [{ digest, definition }] : [];
    });
}

/**
 * The floor: the same number of bare appends and deliveries as a governed call, in the same number of processes, with no
 * other work. What the broker and the client library cost by themselves.
 */
import type { Durable } from '@interlock/contracts';

/** Appends that a role makes when a message of `on` is delivered to it, in order. */
export interface FloorStep {
  readonly on: string;
  readonly appends: readonly string[];
}

export interface FloorRole {
  readonly role: string;
  readonly steps: readonly FloorStep[];
}

/** One governed call with one tool: nine appends, nine deliveries to the services and nine to the event-store. */
export const FLOOR_ROLES: readonly FloorRole[] = [
  { role: 'provider-gateway', steps: [{ on: 'requested', appends: ['attempt', 'message', 'intent'] }] },
  {
    role: 'validator',
    steps: [
      { on: 'intent', appends: ['validated'] },
      { on: 'observation', appends: [] },
    ],
  },
  { role: 'policy-engine', steps: [{ on: 'validated', appends: ['allowed'] }] },
  { role: 'executor', steps: [{ on: 'allowed', appends: ['started', 'completed'] }] },
  {
    role: 'observer',
    steps: [
      { on: 'message', appends: [] },
      { on: 'completed', appends: ['observation'] },
      { on: 'observation', appends: ['requested'] },
    ],
  },
  { role: 'event-store', steps: [{ on: '*', appends: [] }] },
];

export const FLOOR_STREAM = 'FLOOR';
export const FLOOR_SUBJECTS = 'floor.>';
export const APPENDS_PER_CALL = FLOOR_ROLES.flatMap(({ steps }) =>
  steps.flatMap(({ appends }) => appends),
).length;

export function floorSubject(chain: string, step: string): string {
  return `floor.${chain}.${step}`;
}

export function floorDurable({ role, steps }: FloorRole): Durable {
  const filters = steps.map(({ on }) => (on === '*' ? FLOOR_SUBJECTS : floorSubject('*', on)));
  return { name: `floor-${role}`, stream: FLOOR_STREAM, filters };
}

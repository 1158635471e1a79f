/**
 * The comparison of compare-and-set. This file alone spells its headers; `Nats-Msg-Id` is spelled nowhere, because any
 * publisher can spoil an id for another.
 */
import { type LaneAddress, laneFilter } from '@interlock/contracts';
import type { MsgHdrs } from '@nats-io/transport-node';

const EXPECTED_SEQUENCE = 'Nats-Expected-Last-Subject-Sequence';
const EXPECTED_FILTER = 'Nats-Expected-Last-Subject-Sequence-Subject';

/** Stored only while `seq` is the last sequence of the lane. */
export function expectTail(head: MsgHdrs, lane: LaneAddress, seq: number): void {
  head.set(EXPECTED_SEQUENCE, String(seq));
  head.set(EXPECTED_FILTER, laneFilter(lane));
}

/** Stored only while there is nothing on the message's own subject. */
export function expectEmpty(head: MsgHdrs): void {
  head.set(EXPECTED_SEQUENCE, '0');
}

import { expect, test } from 'vitest';
import { ack, fatePayload, nak, parseAckSubject, term } from './delivery.ts';

test('fates are what the server takes', () => {
  expect(fatePayload(ack)).toBe('+ACK');
  expect(fatePayload(nak(1500))).toBe('-NAK {"delay": 1500000000}');
  expect(fatePayload(term('log_full', 'a\nb'))).toBe('+TERM log_full: a b');
});

test('ack subjects are read in both forms', () => {
  const info = { seq: 42, redeliveries: 2, timestamp: new Date(1_796_079_953_479) };
  expect(parseAckSubject('$JS.ACK.EV.validator.3.42.7.1796079953479123815.0')).toEqual(info);
  expect(parseAckSubject('$JS.ACK._.hash.EV.validator.3.42.7.1796079953479123815.0')).toEqual(info);
  expect(parseAckSubject('$JS.ACK._.hash.EV.validator.3.42.7.1796079953479123815.0.random')).toEqual(info);
  for (const odd of ['', '_INBOX.x', '$JS.ACK.EV.d', '$JS.ACK.EV.d.a.b.c.d.e'])
    expect(parseAckSubject(odd)).toBeNull();
});

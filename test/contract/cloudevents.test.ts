/** Every event is a CloudEvent 1.0 to the library of its makers: nobody needs ours to read the log. */
import { eventExamples } from '@interlock/contracts/testing';
import { CloudEvent, HTTP } from 'cloudevents';
import { describe, expect, test } from 'vitest';

type JsonObject = Record<string, unknown>;

const ACCEPTED = eventExamples()
  .filter(({ verdict }) => verdict === 'accept')
  .map(({ path, json }) => ({ path, json: json as JsonObject }));

/** Reads an event as an HTTP receiver would: structured mode, one JSON body. */
function receive(json: JsonObject): JsonObject {
  const event = HTTP.toEvent({
    headers: { 'content-type': 'application/cloudevents+json' },
    body: JSON.stringify(json),
  });
  if (Array.isArray(event)) throw new Error('one event, not a batch');
  return JSON.parse(JSON.stringify(event)) as JsonObject;
}

describe('accepted events', () => {
  test.each(ACCEPTED)('$path', ({ json }) => {
    expect(receive(json)).toEqual(json);
    // Strict: throws where an attribute breaks a rule of the specification.
    const event = new CloudEvent(json, true);
    expect(event.validate()).toBe(true);
    expect(JSON.parse(JSON.stringify(event))).toEqual(json);
  });
});

test('attribute names keep to the rules for extensions', () => {
  for (const { json } of ACCEPTED)
    for (const name of Object.keys(json)) expect(name).toMatch(/^[a-z0-9]{1,20}$/);
});

test.each([
  ['type', ''],
  ['source', ''],
  ['Bad-Name', 'x'],
])('the library would refuse %s: %j', (name, value) => {
  const [example] = ACCEPTED;
  expect(() => new CloudEvent({ ...example?.json, [name]: value }, true).validate()).toThrow();
});

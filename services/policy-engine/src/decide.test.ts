import type { Decision, Layer, Verdict } from '@interlock/contracts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decideEngines, decideLayers, mayAnswer, settle, strictest, type Voice } from './decide.ts';

const RANK = { allow: 0, ask: 1, deny: 2 } as const;

function voice(layer: Layer, decision: Decision, more: Partial<Voice> = {}): Voice {
  const match = { layer, bundle: 'b'.repeat(64), rule: `${layer}-${decision}`, decision, reason: 'because' };
  return { match, kind: 'rule', floor: false, grants: true, approvers: [], expiresMs: null, ...more };
}

function verdict(engine: string, decision: Decision, more: Partial<Verdict> = {}): Verdict {
  return { engine, version: '1', decision, winner: null, matches: [], shadow: false, ...more };
}

const OPEN = { grants: true, approvers: [], expiresMs: null } as const;
const NOBODY = { edit: null, grant: null } as const;
const GRANT = { grantId: 'g1', person: 'ada' };
const EDIT = { answerId: 'a1', person: 'ada' };

describe('layers', () => {
  test.each([
    ['a managed deny beats a user allow', [voice('managed', 'deny'), voice('user', 'allow')], 'deny'],
    ['a user deny beats a managed allow', [voice('user', 'deny'), voice('managed', 'allow')], 'deny'],
    ['a project deny beats everything below', [voice('project', 'deny'), voice('user', 'allow')], 'deny'],
    ['a project ask beats a user allow', [voice('project', 'ask'), voice('user', 'allow')], 'ask'],
    ['a user ask beats a managed allow', [voice('user', 'ask'), voice('managed', 'allow')], 'ask'],
    ['nothing matches', [], 'ask'],
    ['the shipped default alone', [voice('default', 'allow')], 'allow'],
    [
      'the shipped default is silent where a layer speaks',
      [voice('default', 'deny'), voice('user', 'allow')],
      'allow',
    ],
    [
      'a floor of the shipped default never is',
      [voice('default', 'deny', { floor: true }), voice('user', 'allow')],
      'deny',
    ],
    ['a project allow raises nothing', [voice('project', 'allow')], 'ask'],
    [
      'a project allow does not silence the default',
      [voice('project', 'allow'), voice('default', 'deny')],
      'deny',
    ],
    [
      'a project ask does not soften the default',
      [voice('project', 'ask'), voice('default', 'deny')],
      'deny',
    ],
    [
      "a layer's default does not lift what the shipped one denies",
      [voice('user', 'allow', { kind: 'layer-default' }), voice('default', 'deny')],
      'deny',
    ],
    [
      "a layer's default takes the place of the shipped allow",
      [voice('managed', 'ask', { kind: 'layer-default' }), voice('default', 'allow')],
      'ask',
    ],
  ] as const)('%s', (_name, voices, decision) => {
    expect(decideLayers(voices).decision).toBe(decision);
  });

  test('of equals, managed is named before project before user', () => {
    const winner = decideLayers([
      voice('user', 'ask'),
      voice('project', 'ask'),
      voice('managed', 'ask'),
    ]).winner;
    expect(winner?.layer).toBe('managed');
  });

  test('one ask that forbids grants is enough', () => {
    expect(
      decideLayers([voice('managed', 'ask'), voice('user', 'ask', { grants: false })]).terms.grants,
    ).toBe(false);
  });

  test('approvers are those that every ask accepts; the nearest expiry counts', () => {
    const { terms } = decideLayers([
      voice('managed', 'ask', { approvers: ['bob', 'eve'], expiresMs: 5000 }),
      voice('user', 'ask', { approvers: ['ada', 'bob'], expiresMs: 9000 }),
    ]);
    expect(terms).toMatchObject({ approvers: ['bob'], expiresMs: 5000 });
  });

  test('approvers that have nobody in common: the higher layer names them', () => {
    const { terms } = decideLayers([
      voice('project', 'ask', { approvers: ['mallory'] }),
      voice('managed', 'ask', { approvers: ['bob'] }),
    ]);
    expect(terms.approvers).toEqual(['bob']);
  });
});

const layers = fc.constantFrom<Layer>('managed', 'project', 'user', 'default');
const decisions = fc.constantFrom<Decision>('allow', 'ask', 'deny');
const voices = fc.array(
  fc.record({
    layer: layers,
    decision: decisions,
    kind: fc.constantFrom('rule', 'layer-default'),
    floor: fc.boolean(),
  }),
  { maxLength: 8 },
);
const toVoices = (
  list: { layer: Layer; decision: Decision; kind: 'rule' | 'layer-default'; floor: boolean }[],
): Voice[] =>
  list.map(({ layer, decision, kind, floor }) =>
    voice(layer, decision, {
      kind: layer === 'default' ? 'rule' : kind,
      floor: floor && layer === 'default' && decision === 'deny',
    }),
  );

describe('properties', () => {
  test('a deny of any layer wins, in any order', () => {
    const others = voices.map(toVoices);
    const speaker = fc.constantFrom<Layer>('managed', 'project', 'user');
    fc.assert(
      fc.property(others, speaker, fc.nat(), (list, layer, at) => {
        const mixed = list.toSpliced(at % (list.length + 1), 0, voice(layer, 'deny'));
        expect(decideLayers(mixed).decision).toBe('deny');
      }),
    );
  });

  test('order changes nothing', () => {
    fc.assert(
      fc.property(voices.map(toVoices), (list) => {
        expect(decideLayers([...list].reverse()).decision).toBe(decideLayers(list).decision);
      }),
    );
  });

  test('a project layer never loosens', () => {
    fc.assert(
      fc.property(voices.map(toVoices), voices.map(toVoices), (list, more) => {
        const without = list.filter(({ match }) => match.layer !== 'project');
        const project = more.map((one) => ({
          ...one,
          floor: false,
          match: { ...one.match, layer: 'project' as const },
        }));
        expect(RANK[decideLayers([...without, ...project]).decision]).toBeGreaterThanOrEqual(
          RANK[decideLayers(without).decision],
        );
      }),
    );
  });

  test('a grant or an edit never turns a deny', () => {
    fc.assert(
      fc.property(voices.map(toVoices), fc.boolean(), (list, edited) => {
        const ruling = decideLayers(list);
        fc.pre(ruling.decision === 'deny');
        expect(settle(ruling, { edit: edited ? EDIT : null, grant: GRANT }).kind).toBe('deny');
      }),
    );
  });

  test('the strictest engine wins; shadow engines have no force', () => {
    const engines = fc.array(fc.record({ decision: decisions, shadow: fc.boolean() }), {
      minLength: 1,
      maxLength: 6,
    });
    fc.assert(
      fc.property(engines, (list) => {
        const all = list.map((one, index) => verdict(`e${index}`, one.decision, { shadow: one.shadow }));
        const forced = all.filter(({ shadow }) => !shadow).map(({ decision }) => decision);
        expect(decideEngines(all, OPEN).decision).toBe(strictest(forced) ?? 'ask');
      }),
    );
  });
});

describe('engines', () => {
  test('one that failed asks, and no grant answers for it', () => {
    const ruling = decideEngines(
      [verdict('native', 'allow'), verdict('cedar', 'ask', { error: 'late' })],
      OPEN,
    );
    expect(settle(ruling, { edit: null, grant: GRANT })).toMatchObject({ kind: 'ask' });
  });

  test('one that denies without a rule is a denial with a reason', () => {
    const ruling = decideEngines([verdict('native', 'allow'), verdict('cedar', 'deny')], OPEN);
    expect(settle(ruling, NOBODY)).toEqual({
      kind: 'deny',
      rule: null,
      reason: 'A policy engine denies it.',
    });
  });
});

describe('what stands in for an answer', () => {
  const ask = (more: Partial<Voice> = {}) => decideLayers([voice('managed', 'ask', more)]);

  test('a rule that forbids grants is not answered by one', () => {
    expect(settle(ask({ grants: false }), { edit: null, grant: GRANT }).kind).toBe('ask');
  });
  test('a rule that names approvers is not answered by the edit of another', () => {
    expect(settle(ask({ grants: false, approvers: ['bob'] }), { edit: EDIT, grant: null }).kind).toBe('ask');
  });
  test('the edit of an approver answers it', () => {
    const by = { kind: 'answer', ...EDIT };
    expect(settle(ask({ grants: false, approvers: ['ada'] }), { edit: EDIT, grant: null })).toEqual({
      kind: 'allow',
      by,
    });
  });
  test('a grant answers an ask', () => {
    expect(settle(ask(), { edit: null, grant: GRANT })).toEqual({
      kind: 'allow',
      by: { kind: 'grant', ...GRANT },
    });
  });
  test('a rule that allows is named', () => {
    const by = { kind: 'rule', layer: 'user', rule: 'user-allow' };
    expect(settle(decideLayers([voice('user', 'allow')]), NOBODY)).toEqual({ kind: 'allow', by });
  });
});

test('who proposed may not approve, listed or not', () => {
  expect(mayAnswer([], 'ada', 'ada')).toBe(false);
  expect(mayAnswer(['ada'], 'ada', 'ada')).toBe(false);
  expect(mayAnswer(['bob'], 'ada', null)).toBe(false);
  expect(mayAnswer(['bob'], 'bob', 'ada')).toBe(true);
  expect(mayAnswer([], 'ada', null)).toBe(true);
});

/**
 * The rule file: YAML (or JSON), one file per layer. Unknown keys are refused, so that a misspelt condition can never
 * make a rule wider than it was meant. `docs/policy.md` explains it with examples.
 */
import { decisionSchema, effectSchema, modeSchema, sandboxLevelSchema } from '@interlock/contracts';
import { z } from 'zod';

const text = z.string().min(1).max(1000);

/** One value, or a list of which any may match. */
function anyOf<Schema extends z.ZodType>(schema: Schema): z.ZodUnion<[Schema, z.ZodArray<Schema>]> {
  return z.union([schema, z.array(schema).min(1).max(200)]);
}

const glob = text.regex(/^[^!]/, 'must not begin with "!": write a rule for what is meant instead');

/** What the call would do, by the twelve words of the assessment. All parts that are given must hold. */
const effectsSchema = z.strictObject({
  /** At least one of these. Not in a rule that allows: it would let pass whatever comes with it. */
  anyOf: anyOf(effectSchema).optional(),
  /** Each of these. */
  allOf: anyOf(effectSchema).optional(),
  /** Nothing but these. */
  onlyOf: anyOf(effectSchema).optional(),
  /** None of these. */
  noneOf: anyOf(effectSchema).optional(),
});

/**
 * Paths of the assessment as the kernel resolves them, links followed. A rule that allows needs every path to match,
 * any other rule needs one.
 */
const pathsSchema = z.strictObject({
  /** Globs; a relative one starts at the workspace. `**` crosses folders. */
  globs: anyOf(glob).optional(),
  /** Kinds of access that are looked at. Default: all. */
  access: anyOf(z.enum(['read', 'write', 'delete'])).optional(),
  /** True: inside the workspace. False: outside. */
  inside: z.boolean().optional(),
  /** True: the workspace itself, its `.git`, or a folder that holds it. */
  holdsWorkspace: z.literal(true).optional(),
});

/** The command line of a shell call. In a rule that allows it covers one plain command and nothing chained to it. */
const commandSchema = z.strictObject({
  /** The whole line, blanks at its ends aside. */
  exact: anyOf(text).optional(),
  /** The leading words: `npm test` covers `npm test -- -u`, not `npm testbed`. */
  prefix: anyOf(text).optional(),
  /** The program's name, however it is called: `rm` also for `/bin/rm`. */
  program: anyOf(text).optional(),
});

const inputSchema = z
  .strictObject({
    /** A field of the input; dots lead inwards: `options.depth`. */
    field: text,
    equals: z.union([z.string(), z.number(), z.boolean(), z.null()]).optional(),
    /** On text fields. */
    glob: glob.optional(),
    /** On text fields, anywhere in the text; no repeated repetition or choice, at most four repetitions. */
    regex: anyOf(text).optional(),
  })
  .refine(
    ({ equals, glob: pattern, regex }) =>
      [equals, pattern, regex].filter((one) => one !== undefined).length === 1,
    'needs exactly one of equals, glob and regex',
  );

/** All conditions that are given must hold; none at all matches every call. */
const conditionsSchema = z.strictObject({
  /** Tool names; `*` stands for any characters: `mcp__*`. */
  tool: anyOf(text).optional(),
  effects: effectsSchema.optional(),
  paths: pathsSchema.optional(),
  /** Hosts of the assessment; `*.example.com` covers every host below it. A rule that allows needs all to match. */
  hosts: anyOf(text).optional(),
  command: commandSchema.optional(),
  /** Each must hold. */
  input: anyOf(inputSchema).optional(),
  mode: anyOf(modeSchema).optional(),
  tenant: anyOf(text).optional(),
  /** `*` stands for any characters. */
  model: anyOf(text).optional(),
  /** Who opened the session. */
  person: anyOf(text).optional(),
  /** Sandbox of the host that would run the call. */
  sandbox: anyOf(sandboxLevelSchema).optional(),
});

const ruleSchema = z
  .strictObject({
    /** Unique in its file; shown in every decision. */
    id: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, 'must be 1 to 64 letters, digits, ".", "_" or "-"'),
    decision: decisionSchema,
    /** A sentence for people and for the model. */
    reason: text,
    when: conditionsSchema.default({}),
    /** `ask` only. False: no grant answers it, a person is asked each time. Default true. */
    grants: z.boolean().optional(),
    /** `ask` only. Who may answer. Default: anyone but the proposer. Naming somebody also rules out grants. */
    approvers: z.array(text).min(1).max(50).optional(),
    /** `ask` only. How long the ask stays open: `90s`, `30m`, `24h`, `7d`. Default: the house's setting. */
    expires: z
      .string()
      .regex(/^[1-9][0-9]{0,5}[smhd]$/, 'must be a number and s, m, h or d: 30m')
      .optional(),
    /** `deny` in the shipped default only: it speaks also where a rule of a layer matches. */
    floor: z.literal(true).optional(),
  })
  .superRefine((rule, context) => {
    const refuse = (path: string, message: string): void => {
      context.addIssue({ code: 'custom', path: path.split('.'), message });
    };
    if (rule.decision !== 'ask') {
      if (rule.grants !== undefined) refuse('grants', 'belongs to a rule that asks');
      if (rule.approvers !== undefined) refuse('approvers', 'belongs to a rule that asks');
      if (rule.expires !== undefined) refuse('expires', 'belongs to a rule that asks');
    }
    if (rule.floor && rule.decision !== 'deny') refuse('floor', 'belongs to a rule that denies');
    if (rule.decision === 'allow' && rule.when.effects?.anyOf !== undefined) {
      refuse('when.effects.anyOf', 'would allow whatever else the call does: use onlyOf');
    }
  });

export const ruleFileSchema = z
  .strictObject({
    version: z.literal(1),
    /** What happens where no rule of any layer matches. Default: what the shipped policy says. */
    default: decisionSchema.optional(),
    rules: z.array(ruleSchema).max(2000).default([]),
  })
  .superRefine(({ rules }, context) => {
    const seen = new Set<string>();
    rules.forEach(({ id }, index) => {
      if (seen.has(id)) {
        context.addIssue({ code: 'custom', path: ['rules', index, 'id'], message: `"${id}" is used twice` });
      }
      seen.add(id);
    });
  });

export type Conditions = z.output<typeof conditionsSchema>;
export type Rule = z.output<typeof ruleSchema>;
export type RuleFile = z.output<typeof ruleFileSchema>;

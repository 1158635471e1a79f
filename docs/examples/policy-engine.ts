// A policy engine of your own, in one file. It needs a NATS client and the published schemas
// contracts/schemas/rpc/policy.evaluate.{request,reply}.v1.json; nothing else of Interlock.
//
//   npm install @nats-io/transport-node
//   NATS_URL=nats://127.0.0.1:4222 node policy-engine.ts
//   INTERLOCK_POLICY_ENGINES=production interlock up
//
// It forbids what talks to production, asks for what installs packages, and objects to nothing else.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { connect } from '@nats-io/transport-node';

const NAME = 'production';
const VERSION = '1.0.0';

/** The fields of the request that this engine looks at. */
interface EvaluateRequest {
  readonly tool: string;
  readonly assessment: { readonly effects: readonly string[]; readonly hosts: readonly string[] };
}

interface Match {
  readonly layer: 'managed';
  /** SHA-256 of the rules: here, of this very file. */
  readonly bundle: string;
  readonly rule: string;
  readonly decision: 'allow' | 'ask' | 'deny';
  readonly reason: string;
}

const bundle = createHash('sha256')
  .update(readFileSync(new URL(import.meta.url)))
  .digest('hex');

function judge({ assessment }: EvaluateRequest): readonly Match[] {
  const matches: Match[] = [];
  const host = assessment.hosts.find((name) => name.endsWith('.prod.example'));
  if (host !== undefined) {
    const reason = `It talks to ${host}.`;
    matches.push({ layer: 'managed', bundle, rule: 'no-production', decision: 'deny', reason });
  }
  if (assessment.effects.includes('installs-packages')) {
    const reason = 'It installs packages.';
    matches.push({ layer: 'managed', bundle, rule: 'packages', decision: 'ask', reason });
  }
  return matches;
}

function reply(request: EvaluateRequest): unknown {
  const matches = judge(request);
  const winner = matches.find(({ decision }) => decision === 'deny') ?? matches[0] ?? null;
  const decision = winner?.decision ?? 'allow';
  return { ok: true, engine: NAME, version: VERSION, decision, winner, matches };
}

const nats = await connect({ servers: process.env.NATS_URL ?? 'nats://127.0.0.1:4222', name: NAME });
// Replicas of one queue share the requests.
const requests = nats.subscribe(`rpc.v1.policy.evaluate.${NAME}`, { queue: NAME });
await nats.flush();
process.stdout.write(`${NAME} ${VERSION} answers\n`);
for await (const message of requests) {
  try {
    message.respond(JSON.stringify(reply(message.json<EvaluateRequest>())));
  } catch (error) {
    // An error is a reply, never silence: Interlock then asks a person.
    message.respond(JSON.stringify({ ok: false, code: 'internal', message: String(error) }));
  }
}

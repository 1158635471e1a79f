/** Records the grant that an approval gives, before the decision that it leads to. */
import type { ToolApprovalAskedV1 } from '@interlock/contracts';
import { append } from '@interlock/kit';
import type { Answer } from './answer.ts';
import { grantOf } from './grants.ts';
import type { Decided, Place, PolicyHouse } from './record.ts';
import { registryLane } from './registries.ts';

/** Nothing for an approval for once, and nothing when this answer has given its grant already. */
export async function giveGrant(
  house: PolicyHouse,
  { tenant, session }: Place,
  { answer, asked }: { readonly answer: Answer; readonly asked: ToolApprovalAskedV1 },
  { call, opened }: Decided,
): Promise<void> {
  const data = grantOf(call, {
    answerId: answer.envelope.id,
    answer: answer.data,
    offered: asked.scopes,
    session,
    workspace: opened.workspace,
  });
  if (!data) return;
  for (;;) {
    const registries = await house.registries.latest(tenant);
    if (registries.given[data.answerId]) return;
    const draft = { type: 'grant.given', data, causationid: answer.envelope.id } as const;
    const { bus, writer } = house;
    const appended = await append(bus, writer, registryLane(tenant), registries.tenant.tail, draft);
    if (appended.ok) return;
  }
}

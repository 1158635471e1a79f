import type { ConversationState } from '@interlock/contracts';
import type { Bus, FoldCache, Ids, Writer } from '@interlock/kit';
import type { Cancels } from './cancel.ts';
import type { GatewayConfig } from './config.ts';
import type { Provider } from './provider.ts';
import type { ToolCatalog } from './tool-catalog.ts';

/** What the gateway works with. */
export interface House {
  readonly bus: Bus;
  readonly writer: Writer;
  readonly ids: Ids;
  readonly folds: FoldCache<ConversationState>;
  readonly catalog: ToolCatalog;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly cancels: Cancels;
  readonly config: GatewayConfig;
  /** From 0 to 1. */
  readonly random: () => number;
}

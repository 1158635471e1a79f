/** The last snapshot of each workspace, so that the next one reads only what changed. */
import type { Workspace } from '../workspace/paths.ts';
import { type Snapshot, takeSnapshot } from './snapshot.ts';

const MAX_WORKSPACES = 8;

export class WorkspaceIndex {
  readonly #snapshots = new Map<string, Snapshot>();

  /**
   * The workspace as it is now.
   * @param since the snapshot it will be compared with
   */
  async refresh(workspace: Workspace, since?: Snapshot): Promise<Snapshot> {
    const index = this.#snapshots.get(workspace.root) ?? null;
    const snapshot = await takeSnapshot(workspace, { index, since });
    this.#snapshots.delete(workspace.root);
    this.#snapshots.set(workspace.root, snapshot);
    for (const oldest of this.#snapshots.keys()) {
      if (this.#snapshots.size <= MAX_WORKSPACES) break;
      this.#snapshots.delete(oldest);
    }
    return snapshot;
  }
}

/** `npm run dev`: restarts what a changed source belongs to. */
import { type FSWatcher, watch } from 'node:fs';
import { join } from 'node:path';
import type { House } from '@interlock/deploy';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const SHARED = ['contracts/src', 'kit/src'];
const SETTLE_MS = 200;

/** Watches the sources of the services that run; one restart after a burst of changes. */
export function restartOnChange(house: House, tell: (text: string) => void): { close(): void } {
  const services = Object.keys(house.pids());
  const pending = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  const restart = (): void => {
    const names = [...pending];
    pending.clear();
    for (const name of names) {
      tell(`restarting ${name}`);
      house.restart(name).catch((error: unknown) => tell(`${name} does not start: ${String(error)}`));
    }
  };
  const changed = (names: readonly string[]): void => {
    for (const name of names) pending.add(name);
    clearTimeout(timer);
    timer = setTimeout(restart, SETTLE_MS);
  };
  const on = (folder: string, names: readonly string[]): FSWatcher =>
    watch(join(ROOT, folder), { recursive: true }, (_event, file) => {
      if (file?.endsWith('.ts') && !file.endsWith('.test.ts')) changed(names);
    });
  const watchers = [
    ...SHARED.map((folder) => on(folder, services)),
    ...[...Map.groupBy(services, folderOf)].map(([folder, names]) => on(folder, names)),
  ];
  return {
    close() {
      clearTimeout(timer);
      for (const watcher of watchers) watcher.close();
    },
  };
}

function folderOf(service: string): string {
  return service.startsWith('executor-') ? 'services/executors/src' : `services/${service}/src`;
}

import { runMain } from '@interlock/kit';
import { startObserver } from './observer.ts';

await runMain('observer', startObserver);

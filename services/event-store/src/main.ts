import { runMain } from '@interlock/kit';
import { startEventStore } from './index.ts';

await runMain('event-store', startEventStore);

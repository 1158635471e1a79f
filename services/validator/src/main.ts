import { runMain } from '@interlock/kit';
import { startValidator } from './index.ts';

await runMain('validator', startValidator);

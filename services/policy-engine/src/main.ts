import { runMain } from '@interlock/kit';
import { startPolicyEngine } from './index.ts';

await runMain('policy-engine', startPolicyEngine);

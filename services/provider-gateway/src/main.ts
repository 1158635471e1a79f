import { runMain } from '@interlock/kit';
import { startProviderGateway } from './index.ts';

await runMain('provider-gateway', startProviderGateway);

import { runMain } from '@interlock/kit';
import { startExecutor } from './index.ts';

await runMain(`executor-${process.env.INTERLOCK_POOL ?? 'fs'}`, startExecutor);

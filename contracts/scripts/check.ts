/**
 * Part of `npm run check`: what is generated is up to date, and nothing that was released is broken.
 * Prints each complaint with what to do; exit code 1 when there is one.
 */
import { complaints } from './complaints.ts';

const found = complaints();
for (const complaint of found) process.stderr.write(`${complaint}\n`);
if (found.length === 0) process.stdout.write('contracts: generated files up to date, releases compatible\n');
process.exitCode = found.length === 0 ? 0 : 1;

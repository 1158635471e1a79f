/**
 * Chains and signs the accepted examples anew, after one was added or changed. Put a new one at the end (a later id
 * than all others): sequences that other examples name in their data stay true.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CORPUS_DIR } from '../testing/corpus.ts';
import { chained, corpusLog } from '../testing/corpus-log.ts';

for (const { path, event } of chained(corpusLog())) {
  writeFileSync(join(CORPUS_DIR, path), `${JSON.stringify(event, null, 2)}\n`);
}

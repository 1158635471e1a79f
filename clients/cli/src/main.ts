import { createProgram } from './program.ts';
import { endQuietlyOnClosedPipe } from './terminal.ts';

endQuietlyOnClosedPipe();
process.exitCode = await createProgram().run(process.argv.slice(2));

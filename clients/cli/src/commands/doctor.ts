import type { Command } from 'commander';
import type { CommandContext } from '../command-context.ts';
import type { Check } from '../doctor-checks.ts';
import { EXIT } from '../exit-codes.ts';
import { SETTING_NAMES } from '../settings.ts';

const MARKS: Record<Check['state'], string> = { ok: 'ok  ', note: 'note', fault: 'FAIL' };

export function registerDoctor(program: Command, context: CommandContext): void {
  program
    .command('doctor')
    .description('Check what a house needs on this machine, and show each setting with where it came from.')
    .action(async () => {
      const { terminal, settings, json } = context;
      for (const name of SETTING_NAMES) {
        const { value = '', source, variable } = settings[name];
        if (json) terminal.out(JSON.stringify({ type: 'setting', name, value, source, variable }));
        else
          terminal.out(
            `${name.padEnd(10)} ${(value || '-').padEnd(44)} from ${source.padEnd(12)} ${variable}`,
          );
      }
      if (!json) terminal.out('');
      // Loads half of the services: no other command should pay for it.
      const { runChecks } = await import('../doctor-checks.ts');
      let faults = 0;
      for await (const check of runChecks(settings)) {
        if (check.state === 'fault') faults += 1;
        if (json) terminal.out(JSON.stringify({ type: 'check', ...check }));
        else terminal.out(`${MARKS[check.state]} ${check.name.padEnd(14)} ${check.message}`);
      }
      context.exit(faults === 0 ? EXIT.done : EXIT.error);
    });
}

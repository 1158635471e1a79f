/** Places where tests kill a process for real, to see what the log makes of it. */
export const FAILPOINTS = [
  'before-append',
  'after-append',
  'before-ack',
  'before-effect',
  'after-effect',
] as const;
export type Failpoint = (typeof FAILPOINTS)[number];

interface Armed {
  readonly name: string;
  readonly type: string | undefined;
  left: number;
}

const armed = parse(process.env.INTERLOCK_FAILPOINT);

function parse(text: string | undefined): Armed | null {
  if (!text) return null;
  const [name = '', ...rest] = text.split(':');
  const nth = rest.find((part) => /^[1-9][0-9]*$/.test(part));
  const type = rest.find((part) => part !== '' && part !== nth);
  return { name, type, left: nth === undefined ? 1 : Number(nth) };
}

/**
 * Kills this process with SIGKILL when `INTERLOCK_FAILPOINT=<name>[:<type>][:<nth>]` names this place, at the nth
 * time it is passed. Otherwise nothing.
 */
export function failpoint(name: Failpoint, type?: string): void {
  if (armed === null || armed.name !== name) return;
  if (armed.type !== undefined && armed.type !== type) return;
  armed.left -= 1;
  if (armed.left === 0) process.kill(process.pid, 'SIGKILL');
}

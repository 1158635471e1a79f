import type { Envelope } from '@interlock/contracts';
import { type DestinationStream, type Level, type Logger as PinoLogger, pino } from 'pino';
import { REDACTED, redact } from './redact.ts';

export type Logger = PinoLogger;
export type LogLevel = Level | 'silent';
export const LOG_LEVELS = [
  'trace',
  'debug',
  'info',
  'warn',
  'error',
  'fatal',
  'silent',
] as const satisfies LogLevel[];

export interface LoggerOptions {
  /** Left out where several services share the logger: each adds its own to its child. */
  readonly service?: string | undefined;
  readonly instance?: string | undefined;
  /** Default `info`. */
  readonly level?: LogLevel | undefined;
  /** Default standard error: standard output is for data. */
  readonly destination?: DestinationStream | undefined;
}

/** Bindings of a child logger pass no formatter, only serialisers: the spellings our own code might use. */
const CHILD_SECRETS = [
  'apiKey',
  'authorization',
  'nkeySeed',
  'password',
  'privateKey',
  'secret',
  'seed',
  'token',
];

/** JSON lines with `service` and `instance`; times in RFC 3339; secrets redacted by name (`redact.ts`). */
export function createLogger({ service, instance, level, destination }: LoggerOptions = {}): Logger {
  return pino(
    {
      level: level ?? 'info',
      // An absent one is left out of the line.
      base: { service, instance },
      timestamp: pino.stdTimeFunctions.isoTime,
      // By name and not by pino's paths: those cost 50 µs for every child logger, and a delivery has one.
      formatters: { log: redact },
      serializers: {
        ...Object.fromEntries(CHILD_SECRETS.map((name) => [name, () => REDACTED])),
        err: (error: Error) => redact({ ...pino.stdSerializers.err(error) }),
      },
    },
    destination ?? pino.destination({ dest: 2, sync: true }),
  );
}

/** What an envelope says about itself, for log lines. */
type EnvelopeIds = Pick<Envelope, 'tenant' | 'session' | 'type' | 'id'> &
  Partial<Pick<Envelope, 'run' | 'turn' | 'intent'>>;

/** A child logger that carries the ids of an envelope. */
export function eventLogger(logger: Logger, envelope: EnvelopeIds): Logger {
  const { tenant, session, run, turn, intent, id, type } = envelope;
  return logger.child({ tenant, session, run, turn, intent, id, type });
}

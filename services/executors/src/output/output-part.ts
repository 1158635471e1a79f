/** A captured channel as a fact tells it. Pure. */
import type { OutputPart } from '@interlock/contracts';
import type { Capture } from './capture.ts';
import { sanitize } from './sanitize.ts';

/**
 * @param maxBytes how much may be shown
 * @param artifact address of the full output; asked for only when something is left out
 */
export function outputPart(
  channel: string,
  capture: Capture,
  maxBytes: number,
  artifact: () => string | null,
): OutputPart {
  const { head, tail, omittedBytes } = capture.cut(maxBytes);
  if (omittedBytes === 0) return { channel, text: decode(head), omittedBytes: 0 };
  const uri = artifact();
  const gap = `\n[… ${omittedBytes} bytes of ${channel} left out${uri ? `; all of it: ${uri}` : ''} …]\n`;
  return {
    channel,
    text: `${decode(head)}${gap}${decode(tail)}`,
    omittedBytes,
    ...(uri ? { artifact: uri } : {}),
  };
}

function decode(bytes: Uint8Array): string {
  return sanitize(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'));
}

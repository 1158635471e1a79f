/**
 * Text of programs, harmless for terminals and for the model: escape sequences go, other control characters become
 * their pictures, a carriage return alone becomes a line end. Line feed and tab stay. Pure.
 */

const ESC = '\u001b';
// biome-ignore-start lint/suspicious/noControlCharactersInRegex: they are what is removed.
/** CSI, OSC (also cut off), DCS and its like, two-character sequences. */
const SEQUENCES =
  /\u001b\[[0-?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)|\u001b[PX^_][^\u001b]*(?:\u001b\\)|\u001b[ -/]*[0-~]/g;
const CONTROLS =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g;
/** The beginning of a sequence at the end of a text. */
const OPEN_SEQUENCE = /\u001b(?:\[[0-?]*[ -/]*|\][^\u0007\u001b]*|[PX^_][^\u001b]*|[ -/]*)?$/;
// biome-ignore-end lint/suspicious/noControlCharactersInRegex: as above.

/** A whole text made harmless. */
export function sanitize(text: string): string {
  return text
    .replaceAll(SEQUENCES, '')
    .replaceAll('\r\n', '\n')
    .replaceAll('\r', '\n')
    .replaceAll(CONTROLS, picture);
}

function picture(char: string): string {
  const code = char.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? '\u2421' : '\ufffd';
}

/** Longest open sequence that is waited for. */
const MAX_HELD = 256;

/** Makes a stream of texts harmless, whatever the places at which it is split. */
export class StreamSanitizer {
  #held = '';

  push(text: string): string {
    const whole = this.#held + text;
    const open = whole.endsWith('\r') ? whole.length - 1 : openSequenceAt(whole);
    const at = whole.length - open > MAX_HELD ? whole.length : open;
    this.#held = whole.slice(at);
    return sanitize(whole.slice(0, at));
  }

  /** What was held back. */
  end(): string {
    const rest = this.#held;
    this.#held = '';
    return sanitize(rest);
  }
}

function openSequenceAt(text: string): number {
  const last = text.lastIndexOf(ESC);
  if (last < 0 || text.length - last > MAX_HELD) return text.length;
  const open = OPEN_SEQUENCE.exec(text.slice(last));
  return open ? last : text.length;
}

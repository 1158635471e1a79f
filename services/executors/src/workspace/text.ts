/**
 * Bytes and text of a file. What a call does not ask to change keeps every byte: encoding, byte order mark, line ends.
 *
 * X1. `encodeText(decodeText(bytes))` gives the same bytes.
 * X2. What is not text is said to be binary and never decoded by guess: NUL bytes outside UTF-16 make it binary.
 */

/** `latin1` stands for any eight-bit encoding: each byte is one character and goes back as it came. */
export type Encoding = 'utf8' | 'utf16le' | 'utf16be' | 'latin1';

export interface TextFile {
  readonly kind: 'text';
  /** Without the byte order mark; line ends as they are. */
  readonly text: string;
  readonly encoding: Encoding;
  readonly bom: boolean;
}
export type DecodedFile = TextFile | { readonly kind: 'binary' };

const BOMS: readonly { readonly encoding: Encoding; readonly bytes: readonly number[] }[] = [
  { encoding: 'utf8', bytes: [0xef, 0xbb, 0xbf] },
  { encoding: 'utf16le', bytes: [0xff, 0xfe] },
  { encoding: 'utf16be', bytes: [0xfe, 0xff] },
];
const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const strictUtf16 = {
  utf16le: new TextDecoder('utf-16le', { fatal: true, ignoreBOM: true }),
  utf16be: new TextDecoder('utf-16be', { fatal: true, ignoreBOM: true }),
} as const;

/** Decodes a whole file. Total. */
export function decodeText(bytes: Uint8Array): DecodedFile {
  const mark = BOMS.find((bom) => bom.bytes.every((byte, index) => bytes[index] === byte));
  const body = mark ? bytes.subarray(mark.bytes.length) : bytes;
  if (mark?.encoding === 'utf16le' || mark?.encoding === 'utf16be') {
    const text = tryDecode(strictUtf16[mark.encoding], body);
    return text === null ? { kind: 'binary' } : { kind: 'text', text, encoding: mark.encoding, bom: true };
  }
  if (body.includes(0)) return { kind: 'binary' };
  const text = tryDecode(strictUtf8, body);
  if (text !== null) return { kind: 'text', text, encoding: 'utf8', bom: mark !== undefined };
  if (looksBinary(bytes)) return { kind: 'binary' };
  return { kind: 'text', text: Buffer.from(bytes).toString('latin1'), encoding: 'latin1', bom: false };
}

function tryDecode(decoder: { decode(bytes: Uint8Array): string }, bytes: Uint8Array): string | null {
  try {
    return decoder.decode(bytes);
  } catch {
    // Not valid in this encoding.
    return null;
  }
}

/** Eight-bit text has few control characters; compressed data is full of them. */
function looksBinary(bytes: Uint8Array): boolean {
  const sample = bytes.subarray(0, 8192);
  let odd = 0;
  for (const byte of sample) {
    if (byte < 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d && byte !== 0x0c) odd += 1;
  }
  return odd > sample.length / 50;
}

/** The bytes of a text in a file's encoding; null when the encoding has no place for one of its characters. */
export function encodeText(
  text: string,
  { encoding, bom }: Pick<TextFile, 'encoding' | 'bom'>,
): Buffer | null {
  const mark = bom
    ? Buffer.from(BOMS.find((candidate) => candidate.encoding === encoding)?.bytes ?? [])
    : null;
  const body = encodeBody(text, encoding);
  if (body === null) return null;
  return mark ? Buffer.concat([mark, body]) : body;
}

function encodeBody(text: string, encoding: Encoding): Buffer | null {
  switch (encoding) {
    case 'utf8':
      return text.isWellFormed() ? Buffer.from(text, 'utf8') : null;
    case 'utf16le':
      return Buffer.from(text, 'utf16le');
    case 'utf16be':
      return Buffer.from(text, 'utf16le').swap16();
    case 'latin1':
      return /[^\p{ASCII}\u0080-\u00ff]/u.test(text) ? null : Buffer.from(text, 'latin1');
  }
}

/** True when every line of the text ends in CR LF, and there is at least one. */
export function isCrlf(text: string): boolean {
  return text.includes('\r\n') && !/(^|[^\r])\n/.test(text);
}

/** Lines of a text without their ends; a final line end does not begin another line. */
export function splitLines(text: string): string[] {
  const lines = text.split(/\r\n|\n/);
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

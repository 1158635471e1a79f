/**
 * Output of a call within a byte budget: what is shown, and exactly how much is not.
 *
 * U1. Every byte of output is shown or counted in `omittedBytes`.
 * U2. What is left out can be read elsewhere: the artifact is named, and stored first when the executor kept none.
 */
import { type ObservationPart, type OutputPart, toArtifactUri } from '@interlock/contracts';
import { sha256Hex } from '@interlock/kit/pure';
import { byteLength, type Cut, cut } from './bytes.ts';
import { fact, suggestion, untrusted } from './projection.ts';

export interface BoundedOutput {
  /** What was left out, a line each: stands among the facts. */
  readonly truncation: readonly ObservationPart[];
  /** The output itself. */
  readonly shown: readonly ObservationPart[];
  readonly suggestions: readonly ObservationPart[];
  readonly omittedBytes: number;
  readonly artifacts: readonly string[];
  readonly toStore: readonly string[];
}

/** Outputs shown at most; the rest is counted as left out. */
const MAX_CHANNELS = 8;
/** Bytes that the lines about one output may take. */
const BYTES_PER_CHANNEL = 420;

interface Channel {
  readonly name: string;
  readonly output: OutputPart;
  readonly bytes: number;
}

/** Bounds the outputs to `budgetBytes`, lines about them included. */
export function boundOutput(outputs: readonly OutputPart[], budgetBytes: number): BoundedOutput {
  const channels = outputs
    .filter((output) => output.text !== '' || output.omittedBytes > 0)
    .map((output) => ({ name: nameOf(output.channel), output, bytes: byteLength(output.text) }));
  const visible = channels.slice(0, MAX_CHANNELS);
  const hidden = channels.slice(MAX_CHANNELS);
  const room = Math.max(0, budgetBytes - BYTES_PER_CHANNEL * (visible.length + (hidden.length > 0 ? 1 : 0)));
  const shares = share(
    visible.map(({ bytes }) => bytes),
    room,
  );
  const bounded = visible.map((channel, index) =>
    boundChannel(channel, shares[index] ?? 0, visible.length > 1),
  );
  return withSuggestion([...bounded, ...hiddenChannels(hidden)]);
}

type Piece = Omit<BoundedOutput, 'suggestions'>;

function boundChannel(channel: Channel, shareBytes: number, isNamed: boolean): Piece {
  const { name, output } = channel;
  // The end of a command's output says how it went; of content the beginning is what was asked for.
  const headBytes = name === 'content' ? shareBytes : Math.ceil(shareBytes / 2);
  const cutting = cut(output.text, { headBytes, tailBytes: shareBytes - headBytes });
  const omittedBytes = cutting.omittedBytes + output.omittedBytes;
  const mustStore = cutting.omittedBytes > 0 && output.artifact === undefined;
  const artifact =
    output.artifact ?? (mustStore ? toArtifactUri(sha256Hex(output.text.toWellFormed())) : undefined);
  return {
    truncation: omittedBytes > 0 ? [fact(truncationLine(channel, cutting, artifact))] : [],
    shown: shownParts(channel, cutting, isNamed),
    omittedBytes,
    artifacts: artifact === undefined ? [] : [artifact],
    toStore: mustStore ? [output.text.toWellFormed()] : [],
  };
}

function truncationLine({ name, output }: Channel, cutting: Cut, artifact: string | undefined): string {
  const { headBytes, tailBytes, omittedBytes } = cutting;
  const ends =
    tailBytes > 0 ? `the first ${headBytes} and the last ${tailBytes} bytes` : `the first ${headBytes} bytes`;
  const shown = omittedBytes > 0 ? ends : `${headBytes} bytes`;
  const line = `${name}: ${shown} are shown, ${omittedBytes + output.omittedBytes} bytes are left out.`;
  if (artifact === undefined) return `${line} They were not kept.`;
  if (output.artifact !== undefined) return `${line} The whole is ${artifact}.`;
  return output.omittedBytes > 0
    ? `${line} ${omittedBytes} of them are in ${artifact}, the others were not kept.`
    : `${line} The whole is ${artifact}.`;
}

function shownParts({ name }: Channel, cutting: Cut, isNamed: boolean): ObservationPart[] {
  const { head, tail, omittedBytes } = cutting;
  const parts: ObservationPart[] = [];
  if (isNamed || name !== 'content') parts.push(fact(`${name}:`));
  if (head !== '') parts.push(untrusted(head));
  if (omittedBytes > 0) parts.push(fact(`[${omittedBytes} bytes of ${name} left out here]`));
  if (tail !== '') parts.push(untrusted(tail));
  return parts;
}

function hiddenChannels(hidden: readonly Channel[]): Piece[] {
  if (hidden.length === 0) return [];
  const omittedBytes = hidden.reduce((sum, { bytes, output }) => sum + bytes + output.omittedBytes, 0);
  const text = hidden
    .map(({ name, output }) => `== ${name}\n${output.text}\n`)
    .join('')
    .toWellFormed();
  const artifact = toArtifactUri(sha256Hex(text));
  const line = `${hidden.length} more outputs are left out, ${omittedBytes} bytes in all: ${artifact}.`;
  return [{ truncation: [fact(line)], shown: [], omittedBytes, artifacts: [artifact], toStore: [text] }];
}

function withSuggestion(pieces: readonly Piece[]): BoundedOutput {
  const artifacts = [...new Set(pieces.flatMap((piece) => piece.artifacts))];
  const isCut = pieces.some((piece) => piece.truncation.length > 0 && piece.artifacts.length > 0);
  return {
    truncation: pieces.flatMap((piece) => piece.truncation),
    shown: pieces.flatMap((piece) => piece.shown),
    suggestions: isCut
      ? [suggestion('read_artifact reads what was left out: give it the uri, and an offset or a pattern.')]
      : [],
    omittedBytes: pieces.reduce((sum, piece) => sum + piece.omittedBytes, 0),
    artifacts,
    toStore: pieces.flatMap((piece) => piece.toStore),
  };
}

/** Gives small outputs all they need and shares the rest evenly among the large ones. */
export function share(sizes: readonly number[], room: number): number[] {
  const shares = sizes.map(() => 0);
  let left = room;
  const bySize = sizes.map((size, index) => ({ size, index })).sort((a, b) => a.size - b.size);
  for (const [place, { size, index }] of bySize.entries()) {
    const given = Math.min(size, Math.floor(left / (bySize.length - place)));
    shares[index] = given;
    left -= given;
  }
  return shares;
}

/** A channel's name as it may stand in a fact: an executor's word, so one short line. */
function nameOf(channel: string): string {
  const plain = channel.replaceAll(/[^A-Za-z0-9 ._/-]/g, '_').slice(0, 40);
  return plain === '' ? 'output' : plain;
}

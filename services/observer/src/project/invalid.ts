import type { ObservationPart, ToolValidationFailedV1, ValidationError } from '@interlock/contracts';
import { byteLength, clip } from './bytes.ts';
import { plain } from './facts.ts';
import { fact, nothingRan, type Projection, type ProjectOptions, suggestion } from './projection.ts';

const MESSAGE_BYTES = 1024;

/** The call was not well formed or made no sense: nothing ran, nothing was decided. */
export function projectInvalid(data: ToolValidationFailedV1, { budgetBytes }: ProjectOptions): Projection {
  const { errors } = data;
  const opening = fact('Nothing ran: the call is not valid.');
  const facts: ObservationPart[] = [];
  const advice = new Set<string>();
  let left = budgetBytes - byteLength(opening.text) - 60;
  for (const error of errors) {
    const line = toLine(error);
    const tip = clip(error.advice, MESSAGE_BYTES);
    const size = byteLength(line) + (advice.has(tip) ? 0 : byteLength(tip));
    if (size > left) break;
    left -= size;
    facts.push(fact(line));
    if (tip !== '') advice.add(tip);
  }
  const more = errors.length - facts.length;
  if (more > 0) facts.push(fact(`There are ${more} more errors.`));
  return nothingRan('invalid', errors[0]?.code, [opening, ...facts, ...[...advice].map(suggestion)]);
}

function toLine({ path, code, message }: ValidationError): string {
  const where = path === '' ? 'The call' : `Input ${plain(path, 200)}`;
  return `${where}: ${clip(message, MESSAGE_BYTES)} (${code})`;
}

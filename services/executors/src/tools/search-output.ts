/** What a search tells: its hits, and what the hits do not say by themselves. */
import type { OutputPart } from '@interlock/contracts';
import type { SearchReply, SearchRequest } from '../search/requests.ts';
import { runSearch, SearchStoppedError } from '../search/searcher.ts';
import { printable } from './list-dir.ts';
import { failure, NO_EFFECTS, type StopReason, type ToolResult } from './tool.ts';

/** Runs a search and tells what it found. */
export async function searchResult(
  request: SearchRequest,
  signal: AbortSignal,
  what: string,
): Promise<ToolResult> {
  try {
    const reply = await runSearch(request, signal);
    const notes = notesOf(reply, what);
    return { outcome: 'success', output: [hits(reply), ...notes], effects: NO_EFFECTS };
  } catch (error) {
    if (!(error instanceof SearchStoppedError)) throw error;
    const reason: StopReason = signal.reason;
    return reason === 'timeout'
      ? failure('the search took too long; narrow the path or simplify the pattern', 'timeout')
      : failure('the search was stopped', 'aborted');
  }
}

function hits({ lines }: SearchReply): OutputPart {
  return { channel: 'content', text: lines.map(printableLine).join('\n'), omittedBytes: 0 };
}

function printableLine(line: string): string {
  return line.split('\t').map(printable).join('\t');
}

function notesOf(reply: SearchReply, what: string): OutputPart[] {
  const { lines, total, cut, ignored, unreadable, binary, tooLarge } = reply;
  const notes: string[] = [];
  if (total === 0) notes.push(`no ${what}`);
  else if (cut || lines.length < total) notes.push(`${lines.length} ${what} shown; there are more`);
  if (ignored > 0)
    notes.push(`${ignored} ignored ${ignored === 1 ? 'entry' : 'entries'} skipped (ignore files)`);
  if (binary > 0) notes.push(`${binary} binary ${binary === 1 ? 'file' : 'files'} skipped`);
  if (unreadable > 0) notes.push(`${unreadable} could not be read`);
  for (const path of tooLarge.slice(0, 5)) notes.push(`${path} is too large to be searched`);
  return notes.length === 0 ? [] : [{ channel: 'note', text: notes.join('\n'), omittedBytes: 0 }];
}

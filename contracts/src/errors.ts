/**
 * The only list of codes. Each has a family, a sentence on what it means and what to do; `docs/errors.md` is generated from it.
 *
 * Families: `validation` (told to the model), `decision` (kinds of denial), `execution` (why a call has no success),
 * `model` (why a model gave no message), `wire` (messages), `house` (services, set-up and clients).
 */
export type ErrorFamily = 'validation' | 'decision' | 'execution' | 'model' | 'wire' | 'house';

export interface ErrorEntry {
  readonly family: ErrorFamily;
  readonly meaning: string;
  readonly advice: string;
}

const entry = (family: ErrorFamily, meaning: string, advice: string): ErrorEntry => ({
  family,
  meaning,
  advice,
});

export const ERRORS = {
  malformed_arguments: entry(
    'validation',
    'The arguments of the call are not JSON.',
    'Call the tool again with one valid JSON object.',
  ),
  schema_mismatch: entry(
    'validation',
    'The arguments do not fit the input schema of the tool.',
    'Correct the named field and call again.',
  ),
  unknown_tool: entry(
    'validation',
    'No tool of that name is registered.',
    'Use one of the tools listed in the request.',
  ),
  tool_not_visible: entry(
    'validation',
    'The tool exists but this session may not use it.',
    'Use one of the tools listed in the request.',
  ),
  file_not_read: entry(
    'validation',
    'The file would be changed without having been read in this session.',
    'Read the file first, then call again.',
  ),
  file_changed: entry(
    'validation',
    'The file is not what it was when it was last read.',
    'Read the file again, then decide anew.',
  ),
  file_not_found: entry('validation', 'There is no such file.', 'Check the path with list_dir or glob.'),
  not_a_regular_file: entry(
    'validation',
    'The path is a directory, device, pipe or socket.',
    'Name a regular file.',
  ),
  binary_file: entry('validation', 'The file is not text.', 'Use a shell tool that understands the format.'),
  text_not_found: entry(
    'validation',
    'The text to replace is not in the file.',
    'Read the file and copy the text exactly.',
  ),
  text_not_unique: entry(
    'validation',
    'The text to replace occurs more than once.',
    'Include more of the surrounding lines, or set replaceAll.',
  ),
  no_change: entry('validation', 'The call would change nothing.', 'Check that oldText and newText differ.'),
  change_too_large: entry(
    'validation',
    'The change is larger than this house allows in one call.',
    'Split it into smaller calls.',
  ),
  path_outside_workspace: entry(
    'validation',
    'The path leads out of the workspace.',
    'Use a path inside the workspace.',
  ),
  invalid_path: entry(
    'validation',
    'The path contains a character that no path may hold.',
    'Use a plain path.',
  ),
  invalid_pattern: entry('validation', 'The pattern is not valid.', 'Correct the pattern and call again.'),
  command_invalid: entry(
    'validation',
    'The command cannot be run as one argument (empty, a NUL byte, or too long).',
    'Shorten the command or write a script file first.',
  ),
  artifact_not_found: entry(
    'validation',
    'No artifact of that address exists in this tenant.',
    'Use an address that an observation named.',
  ),
  pool_unavailable: entry(
    'validation',
    'No executor of the pool answered in time.',
    'Try another tool, or go on without it.',
  ),
  budget_exhausted: entry(
    'validation',
    'The budget of the run does not allow another call.',
    'Finish with what is known.',
  ),

  rule_denied: entry(
    'decision',
    'A policy rule denies this call.',
    'Choose another way; do not repeat the call.',
  ),
  rejected_by_person: entry(
    'decision',
    'A person rejected this call.',
    'Ask what they want, or choose another way.',
  ),
  approval_expired: entry('decision', 'Nobody answered in time.', 'Go on without it, or propose it again.'),
  superseded: entry(
    'decision',
    'A person edited this call; the edited one stands in its place.',
    'Rest on the result of the edited call.',
  ),
  policy_invalid: entry(
    'decision',
    'A policy file cannot be read.',
    'Run `interlock policy lint` on it; the last good one stays in force.',
  ),
  answer_refused: entry(
    'decision',
    'The answer does not fit the ask (other hash, not an approver, wrong signature).',
    'Look at the ask again and answer that.',
  ),

  exit_code: entry('execution', 'The command ended with a code other than 0.', 'Read its output.'),
  timeout: entry(
    'execution',
    'The call took longer than its limit and was stopped.',
    'Raise timeoutMs or run it in the background.',
  ),
  exception: entry('execution', 'The tool failed.', 'Read the message.'),
  aborted: entry('execution', 'The call was stopped because the run was cancelled.', 'Nothing to do.'),
  invocation_expired: entry(
    'execution',
    'The permit was too old when the executor got it; nothing ran.',
    'Propose the call again.',
  ),
  bad_signature: entry(
    'execution',
    'The permit or the fact is not signed by who may sign it; nothing is taken from it.',
    'Tell an operator.',
  ),
  stale_baseline: entry(
    'execution',
    'A file changed between the decision and the start; nothing ran.',
    'Read the file again.',
  ),
  outcome_unknown: entry(
    'execution',
    'The executor was lost after it claimed the call: it may or may not have happened.',
    'Check the world before you rely on either.',
  ),
  sandbox_unavailable: entry(
    'execution',
    'The permit demands a sandbox that this host does not have; nothing ran.',
    'Run `interlock doctor` on the host of the executor.',
  ),
  cancelled: entry('execution', 'The call was withdrawn before anything ran.', 'Nothing to do.'),

  auth: entry('model', 'The provider refused the key.', 'Check the key with `interlock doctor`.'),
  permission: entry('model', 'The key may not do this.', 'Use a key with the right.'),
  billing: entry('model', 'The account cannot pay.', 'Check the plan of the account.'),
  rate_limit: entry('model', 'Too many requests.', 'Wait as long as the provider says.'),
  overloaded: entry('model', 'The provider is overloaded.', 'Try again later.'),
  invalid_request: entry('model', 'The provider refused the request.', 'Read its message.'),
  context_window: entry(
    'model',
    'The conversation no longer fits the model.',
    'Start a new session or compact.',
  ),
  model_not_found: entry('model', 'There is no such model.', 'Run `interlock models`.'),
  transport: entry('model', 'The connection to the provider broke.', 'Check the network.'),
  stream_timeout: entry('model', 'The provider sent nothing for too long.', 'Try again.'),
  stream_truncated: entry('model', 'The answer ended before its terminal event.', 'Try again.'),
  script_no_match: entry(
    'model',
    'No turn of the script fits this point of the conversation.',
    'Add a turn or correct its `when`.',
  ),
  script_invalid: entry('model', 'The script file is not valid.', 'Correct the named field.'),
  context_mismatch: entry(
    'model',
    'The context folded by the gateway is not the one that was requested.',
    'Tell an operator: two services disagree on the log.',
  ),
  model_cancelled: entry('model', 'The request was cancelled.', 'Nothing to do.'),
  internal: entry('model', 'The gateway failed in itself.', 'Read its log.'),

  invalid_id: entry(
    'wire',
    'An id holds a character that no subject may hold, or is too long.',
    'Use 1 to 64 letters, digits, "_" or "-".',
  ),
  reserved_id: entry('wire', 'The id is reserved.', 'Choose another id than "sys".'),
  unreadable_event: entry(
    'wire',
    'A message does not parse as an event of its type.',
    'Correct the writer; the message is quarantined.',
  ),
  unknown_type: entry(
    'wire',
    'No type of that name is in the contracts.',
    'Upgrade the reader or correct the writer.',
  ),
  unknown_version: entry(
    'wire',
    'The version of the message is newer than this reader.',
    'Upgrade the reader.',
  ),
  illegal_transition: entry(
    'wire',
    'The event does not follow from what its lane holds.',
    'The event is quarantined and skipped.',
  ),
  chain_broken: entry(
    'wire',
    'The event does not chain to the one before it.',
    'The event is quarantined and skipped.',
  ),
  message_too_large: entry(
    'wire',
    'The message does not fit even with its large fields stored apart.',
    'Send less in one message.',
  ),
  artifact_unavailable: entry(
    'wire',
    'An artifact that an event refers to cannot be read or does not match its hash.',
    'Check the BLOB stream.',
  ),
  dead_letter: entry(
    'wire',
    'A service gave up on a message after it could not handle it.',
    'Read the log of the named service; the call ends without it.',
  ),
  lane_conflict: entry('wire', 'Somebody else appended to the lane first.', 'Fold again and decide anew.'),
  append_unconfirmed: entry(
    'wire',
    'The log did not confirm an append in time.',
    'Check that nats-server is reachable; nothing was done without a record.',
  ),
  log_full: entry(
    'wire',
    'The stream is full and refuses new events.',
    'Archive sessions or raise its limit.',
  ),

  config_invalid: entry('house', 'A setting is missing or wrong.', 'Correct the named variable.'),
  nats_unreachable: entry('house', 'nats-server cannot be reached.', 'Start it, or set INTERLOCK_NATS_URL.'),
  nats_too_old: entry(
    'house',
    'nats-server is older than 2.14.',
    'Install 2.14 or later, or unset NATS_SERVER_BIN.',
  ),
  consumer_missing: entry(
    'house',
    'The durable consumer of the service is gone.',
    'The event-store provisions it again; otherwise run `interlock doctor`.',
  ),
  drift: entry(
    'house',
    'A stream or consumer is not what the contracts say.',
    'Read the drift report of the event-store.',
  ),
  session_not_found: entry('house', 'There is no such session.', 'List them with `interlock ls`.'),
  session_exists: entry(
    'house',
    'A session of that id exists already.',
    'Choose another id or attach to it.',
  ),
  session_closed: entry('house', 'The session is closed.', 'Open a new one.'),
  workspace_invalid: entry(
    'house',
    'The workspace is not a directory that can be used.',
    'Name an existing directory.',
  ),
  usage: entry('house', 'The command line is wrong.', 'Run the command with --help.'),
  query_invalid: entry('house', 'A query does not fit its schema.', 'Correct the named field.'),
  query_timeout: entry('house', 'No event-store answered.', 'Check that the event-store runs.'),
  waiting_for_approval: entry(
    'house',
    'The run waits for a person and there is no terminal to ask.',
    'Answer with `interlock approvals`, then `interlock attach`.',
  ),
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERRORS;
export const ERROR_CODES = Object.keys(ERRORS) as readonly ErrorCode[];

/** Codes of one family, as a tuple for `z.enum`. */
export function codesOf(family: ErrorFamily): [ErrorCode, ...ErrorCode[]] {
  return ERROR_CODES.filter((code) => ERRORS[code].family === family) as [ErrorCode, ...ErrorCode[]];
}

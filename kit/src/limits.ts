/** The one spill rule, in numbers. */
const KIB = 1024;

/** A string of `data` above this many UTF-8 bytes is stored apart. */
export const FIELD_LIMIT = 64 * KIB;
/** A message above this, headers and body together, has its largest fields stored apart. */
export const MESSAGE_LIMIT = 512 * KIB;
/** A message still above this is refused with `message_too_large`. */
export const HARD_LIMIT = 900 * KIB;
/** Bytes of one chunk in `BLOB`. */
export const CHUNK_SIZE = 256 * KIB;
/** What one artifact may be. */
export const ARTIFACT_LIMIT = 1024 * KIB * KIB;
/** What one restored field may be: a stored event must not be able to fill a reader's memory. */
export const RESTORE_LIMIT = 64 * KIB * KIB;
/** Room kept for headers when a message is measured before they are made. */
export const HEADER_ROOM = KIB;

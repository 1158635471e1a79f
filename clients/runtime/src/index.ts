export { finalText, type Grounds, groundsOf } from './answer.ts';
export { RuntimeRefusal } from './errors.ts';
export { eventFeed, type FeedEvent, type FeedOptions } from './event-feed.ts';
export { type IntentOutput, type RuntimeOutput, toOutputs } from './output.ts';
export {
  type Answer,
  attachSession,
  isAnswered,
  MESSAGE_LIMIT_BYTES,
  type OpenOptions,
  openSession,
  type RuntimeContext,
  Session,
  type Step,
} from './session.ts';

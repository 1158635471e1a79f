import { createInbox, type Msg, type NatsConnection } from '@nats-io/transport-node';

/** A place where replies to one request arrive. */
export interface ReplyBox {
  readonly subject: string;
  close(): void;
}

/** Collects replies of requests that have several; one subscription for all of them. */
export interface Replies {
  /** Opens a box; `receive` is called for each message in order of arrival, until `close`. It must not throw. */
  open(receive: (message: Msg) => void): ReplyBox;
}

export function createReplies(nc: NatsConnection, inboxPrefix: string): Replies {
  const inbox = createInbox(inboxPrefix);
  const boxes = new Map<string, (message: Msg) => void>();
  const tokenAt = inbox.length + 1;
  let next = 0;
  let subscribed = false;
  const subscribe = (): void => {
    subscribed = true;
    nc.subscribe(`${inbox}.*`, {
      callback: (error, message) => {
        // A refused subscription says so once, on the connection; those who wait run into their time limit.
        if (error === null) boxes.get(message.subject.slice(tokenAt))?.(message);
      },
    });
  };
  return {
    open(receive) {
      if (!subscribed) subscribe();
      const token = (next++).toString(36);
      boxes.set(token, receive);
      return { subject: `${inbox}.${token}`, close: () => boxes.delete(token) };
    },
  };
}

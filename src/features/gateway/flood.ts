/**
 * Says when a server sends more than anybody could use: a message that is too long, or too many of them at once. What is
 * done about it is decided by the transport.
 */
import { formatBytes } from '../../platform/text/text.ts';

/** A page with its pictures fits. */
export const maxServerMessageBytes = 16 * 1024 * 1024;
const maxMessagesPerSecond = 2000;
const maxBytesPerSecond = 64 * 1024 * 1024;

/** Each says how the connection has to end, as the end of a sentence about the server; null while all is well. */
export interface FloodWatch {
  readonly countBytes: (bytes: number) => string | null;
  readonly countMessage: () => string | null;
}

export const tooLongMessage = `was ended, since it sent a message of more than ${formatBytes(maxServerMessageBytes)}`;

export function createFloodWatch(now: () => number = performance.now.bind(performance)): FloodWatch {
  let since = now();
  let [bytesSeen, messages] = [0, 0];
  const renew = (): void => {
    if (now() - since < 1000) return;
    since = now();
    [bytesSeen, messages] = [0, 0];
  };
  return {
    countBytes(bytes) {
      renew();
      bytesSeen += bytes;
      return bytesSeen > maxBytesPerSecond
        ? `was ended, since it sent more than ${formatBytes(maxBytesPerSecond)} in a second`
        : null;
    },
    countMessage() {
      renew();
      return ++messages > maxMessagesPerSecond
        ? `was ended, since it sent more than ${maxMessagesPerSecond} messages in a second`
        : null;
    },
  };
}

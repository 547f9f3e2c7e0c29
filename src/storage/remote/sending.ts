import { WorkcrateError } from '../../errors.ts';
import type { Part, Parts } from './parts.ts';

/** With the part that is being filled, four are in memory. */
const mostInFlight = 3;

export interface Sender<T> {
  /** Begins to send a part. Called for one after the other. */
  send(part: Part): Promise<T>;
  /** Told of each part in their order, once it and all before it are there. */
  arrived(sent: T): void | Promise<void>;
  /** How many parts there are before, and how many the store takes in all. */
  readonly count: number;
  readonly most: number;
}

export interface SendingFailure {
  readonly error: unknown;
  /** Whether it was the store that failed, and not the source. */
  readonly isInStore: boolean;
}

/**
 * Sends parts, several at a time. Gives what stopped it, or null where nothing did; where both the source and the store
 * failed, that of the store, since it came to an earlier byte. Whatever fails, those on their way are waited for.
 */
export async function sendParts<T>(parts: Parts, sender: Sender<T>): Promise<SendingFailure | null> {
  const onTheWay: { readonly part: Part; readonly sent: Promise<T> }[] = [];
  let { count } = sender;

  /** One that failed stays the first, so that none behind it is ever taken for arrived. */
  const settle = async (most: number): Promise<SendingFailure | null> => {
    try {
      while (onTheWay.length > most) {
        const sent = await onTheWay[0]!.sent;
        parts.giveBack(onTheWay.shift()!.part);
        await sender.arrived(sent);
      }
      return null;
    } catch (error) {
      return { error, isInStore: true };
    }
  };

  const begin = (part: Part): void => {
    if (count++ === sender.most) throw tooMany(sender.most);
    const sent = sender.send(part);
    // Its failure is told when its turn comes.
    sent.catch(() => {});
    onTheWay.push({ part, sent });
  };

  const sendAll = async (): Promise<SendingFailure | null> => {
    try {
      for await (const part of parts.all) {
        if (part.bytes.length === 0) continue;
        const failure = await settle(mostInFlight - 1);
        if (failure !== null) return failure;
        begin(part);
      }
      return null;
    } catch (error) {
      return { error, isInStore: false };
    }
  };

  const failure = await sendAll();
  const later = failure?.isInStore ? null : await settle(0);
  await Promise.allSettled(onTheWay.map(({ sent }) => sent));
  return later ?? failure;
}

const tooMany = (most: number): WorkcrateError =>
  new WorkcrateError(
    'too_large',
    `The store takes no more than ${most} parts of an object. Raise --part-size, or send it in fewer requests.`,
  );

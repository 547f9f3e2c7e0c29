/**
 * The server's end of the connection of a run: reads requests, has them answered, so many at once, and sends the
 * answers. It ends with the run, with the first request that is none, and with a run that asks far too often. It knows
 * no tools: `broker.ts` does.
 */
import type { Duplex } from 'node:stream';
import { isWorkcrateError } from '../../platform/errors.ts';
import { encodeFrame, FrameReader, type CallRequest } from './frames.ts';

export interface ChannelOptions {
  /** Answered at the same time; further requests wait. */
  readonly mostAtOnce: number;
  /** All requests that are read. A run that sends more is cut off. */
  readonly mostRequests: number;
  /** Gives the answer without its id. It does not reject. */
  readonly answer: (request: CallRequest) => Promise<object>;
}

export interface Channel extends Disposable {
  accept(connection: Duplex): void;
}

const tooManyText = 'The run has asked the server too often, so it can call no more tools.';

export function createChannel({ mostAtOnce, mostRequests, answer }: ChannelOptions): Channel {
  const waiting: CallRequest[] = [];
  let connection: Duplex | null = null;
  let isOver = false;
  let atOnce = 0;
  let count = 0;

  /** Waits until the run has taken it: one that reads nothing gets no further answers. */
  const send = (frame: object): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (isOver || connection === null) resolve();
    else connection.write(encodeFrame(frame), () => resolve());
    return promise;
  };

  const end = (text: string): void => {
    if (isOver) return;
    waiting.splice(0);
    const last = connection;
    last?.write(encodeFrame({ end: text }), () => last.destroy());
    isOver = true;
    last?.pause();
  };

  const answerOne = async (request: CallRequest): Promise<void> => {
    atOnce++;
    const got = await answer(request);
    await send({ id: request.id, ...got });
    atOnce--;
    takeMore();
  };

  function takeMore(): void {
    for (const request of waiting.splice(0, mostAtOnce - atOnce)) void answerOne(request);
    // What is read waits in memory, so no more than a few of each.
    if (waiting.length < mostAtOnce) connection?.resume();
    else connection?.pause();
  }

  const take = (reader: FrameReader, chunk: Buffer): void => {
    try {
      for (const request of reader.read(chunk)) {
        if (++count > mostRequests) return end(tooManyText);
        waiting.push(request);
      }
    } catch (error) {
      if (!isWorkcrateError(error, 'invalid_input')) throw error;
      return end(error.message);
    }
    takeMore();
  };

  return {
    accept(given) {
      if (isOver || connection !== null) return void given.destroy();
      connection = given;
      const reader = new FrameReader();
      const close = (): void => {
        isOver = true;
        waiting.splice(0);
        given.destroy();
      };
      given.on('data', (chunk: Buffer) => {
        if (!isOver) take(reader, chunk);
      });
      given.on('error', close).on('end', close).on('close', close);
    },
    [Symbol.dispose]() {
      isOver = true;
      waiting.splice(0);
      connection?.destroy();
    },
  };
}

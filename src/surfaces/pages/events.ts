/**
 * Server-Sent Events: how a page hears of what goes on, without asking again and again. A stream waits for the browser
 * before it makes the next event, sends a sign of life now and then, and ends after a while: the browser comes back by
 * itself, and is authenticated anew.
 */
import { WorkcrateError } from '../../platform/errors.ts';
import type { Caller } from '../../core/identity.ts';
import type { PageEvents } from './live-events.ts';

export interface ServerEvent<Name extends keyof PageEvents> {
  readonly event: Name;
  readonly data: PageEvents[Name];
  /** What the browser sends as `Last-Event-ID` when it comes back. */
  readonly id?: number;
}

const encoder = new TextEncoder();

/** An event as it is sent. Where many pages get the same, it is written once for all. */
export function encodeEvent<Name extends keyof PageEvents>({
  event,
  data,
  id,
}: ServerEvent<Name>): Uint8Array {
  const place = id === undefined ? '' : `id: ${id}\n`;
  return encoder.encode(`${place}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
}

const signOfLife = encoder.encode(': still here\n\n');

/** A wait that something else can end. */
export interface Alarm {
  ring(): void;
  /** Resolves when it rang since the last wait, the time is over, or nobody listens any more. */
  wait(ms: number): Promise<void>;
}

export function createAlarm(signal: AbortSignal): Alarm & Disposable {
  let hasRung = false;
  let wake: (() => void) | null = null;
  const ring = (): void => {
    hasRung = true;
    wake?.();
  };
  signal.addEventListener('abort', ring);
  return {
    ring,
    async wait(ms) {
      if (!hasRung && !signal.aborted) {
        const { promise, resolve } = Promise.withResolvers<void>();
        const timer = setTimeout(resolve, ms);
        wake = resolve;
        await promise;
        wake = null;
        clearTimeout(timer);
      }
      hasRung = false;
    },
    [Symbol.dispose]: () => signal.removeEventListener('abort', ring),
  };
}

/** How long a stream is silent at most: a connection that is gone is found out by that. */
export const silenceMs = 15_000;
const maxStreamMs = 600_000;
/** Of this server; each costs little, but none is free. */
const maxStreams = 1000;
/** Of one user, so that none can take them all; as many as the streams of their tasks. */
export const maxUserStreams = 32;
const retryMs = 1000;

let openStreams = 0;
const userStreams = new Map<string, number>();

function countStream(user: string, change: 1 | -1): void {
  openStreams += change;
  const count = (userStreams.get(user) ?? 0) + change;
  if (count === 0) userStreams.delete(user);
  else userStreams.set(user, count);
}

/** How long a stream waits between events, so that many lines at once are one: longer where many pages are open. */
export const getPaceMs = (): number => 100 + Math.min(100, openStreams);

/** Who follows, until when. */
export interface EventsVisitor {
  readonly caller: Caller;
  readonly signal: AbortSignal;
}

/** An event, or null for a sign of life. */
export type MakeEvents = (signal: AbortSignal) => AsyncGenerator<Uint8Array | null, void>;

export function answerEvents(
  { caller: { user }, signal: visiting }: EventsVisitor,
  makeEvents: MakeEvents,
): Response {
  if ((userStreams.get(user) ?? 0) >= maxUserStreams)
    throw new WorkcrateError(
      'too_many_requests',
      `You have ${maxUserStreams} pages open that follow what goes on. Close some of them, then load this one again.`,
    );
  if (openStreams >= maxStreams)
    throw new WorkcrateError(
      'too_many_requests',
      'Too many pages are open that follow what goes on. Load this one again later.',
    );
  countStream(user, 1);
  const gone = new AbortController();
  const events = makeEvents(AbortSignal.any([visiting, gone.signal, AbortSignal.timeout(maxStreamMs)]));
  const close = (): void => {
    if (gone.signal.aborted) return;
    gone.abort();
    countStream(user, -1);
  };
  visiting.addEventListener('abort', close, { once: true });
  const body = new ReadableStream<Uint8Array>(
    {
      start: (controller) => controller.enqueue(encoder.encode(`retry: ${retryMs}\n\n`)),
      async pull(controller) {
        try {
          const { done, value } = await events.next();
          if (done !== true) return controller.enqueue(value ?? signOfLife);
          close();
          controller.close();
        } catch (error) {
          close();
          controller.error(error);
        }
      },
      cancel: close,
    },
    { highWaterMark: 2 },
  );
  return new Response(body, {
    headers: {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
      // nginx would keep events back.
      'X-Accel-Buffering': 'no',
    },
  });
}

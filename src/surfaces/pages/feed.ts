/**
 * A part of a page that changes while it is open: rendered again when something happened, at most once a second, and once
 * for all pages that show the same to the same user. It is rendered past the tools, which decided before who may see it.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { createAlarm, silenceMs, encodeEvent, type Alarm } from './events.ts';

export interface FedPart {
  /** Tells parts apart; has to name the user. */
  readonly key: string;
  /** Calls when it may look different. */
  readonly watch: (tell: () => void) => Disposable;
  readonly render: () => Promise<string>;
}

const paceMs = 1000;
const nothingYet = new Uint8Array();

interface SharedPart extends Disposable {
  readonly render: () => Promise<string>;
  rendered: Promise<Uint8Array>;
  last: Uint8Array;
  renderedAt: number;
  /** Whether nothing happened since. */
  isFresh: boolean;
  isPending: boolean;
  readonly alarms: Set<Alarm>;
}

/** What it looks like now; not more often than once a second, however many ask. */
function renderShared(part: SharedPart): Promise<Uint8Array> {
  const now = performance.now();
  // Not everything that a part shows tells when it changes.
  if (now - part.renderedAt > silenceMs) part.isFresh = false;
  if (part.isFresh || part.isPending) return part.rendered;
  part.isPending = true;
  part.rendered = pause(Math.max(0, part.renderedAt + paceMs - now)).then(() => {
    Object.assign(part, { isPending: false, isFresh: true, renderedAt: performance.now() });
    return renderOnce(part);
  });
  return part.rendered;
}

/** The event, and the very same one if it looks as before. */
async function renderOnce(part: SharedPart): Promise<Uint8Array> {
  const event = encodeEvent({ event: 'part', data: await part.render() });
  if (Buffer.compare(event, part.last) !== 0) part.last = event;
  return part.last;
}

function createSharedPart({ watch, render }: FedPart): SharedPart {
  const alarms = new Set<Alarm>();
  const watching = watch(() => {
    part.isFresh = false;
    for (const alarm of alarms) alarm.ring();
  });
  const part: SharedPart = {
    render,
    rendered: Promise.resolve(nothingYet),
    last: nothingYet,
    renderedAt: -Infinity,
    isFresh: false,
    isPending: false,
    alarms,
    [Symbol.dispose]: () => watching[Symbol.dispose](),
  };
  return part;
}

export function createFeeds() {
  const parts = new Map<string, SharedPart>();

  /** Those who follow a part share it; the last one to go takes it along. */
  function join(wanted: FedPart, alarm: Alarm): { readonly part: SharedPart } & Disposable {
    const part = parts.getOrInsertComputed(wanted.key, () => createSharedPart(wanted));
    part.alarms.add(alarm);
    return {
      part,
      [Symbol.dispose]() {
        part.alarms.delete(alarm);
        if (part.alarms.size > 0) return;
        parts.delete(wanted.key);
        part[Symbol.dispose]();
      },
    };
  }

  return {
    /** The part each time that it has changed, beginning with how it is now. */
    async *follow(wanted: FedPart, signal: AbortSignal): AsyncGenerator<Uint8Array | null, void> {
      using alarm = createAlarm(signal);
      using joined = join(wanted, alarm);
      let shown: Uint8Array | null = null;
      let lastSent = 0;
      for (; !signal.aborted; await alarm.wait(silenceMs)) {
        const now = await renderShared(joined.part);
        if (now === shown && performance.now() - lastSent < silenceMs) continue;
        yield now === shown ? null : now;
        [shown, lastSent] = [now, performance.now()];
      }
    },
  };
}

export type Feeds = ReturnType<typeof createFeeds>;

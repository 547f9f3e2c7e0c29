/**
 * A part of a page that changes while it is open: rendered again when something happened, at most once a second, and once
 * for all pages that show the same to the same user. It is rendered past the tools, which decided before who may see it.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { createAlarm, silenceMs, type Alarm, type ServerEvent } from './events.ts';

export interface FedPart {
  /** Tells parts apart; has to name the user. */
  readonly key: string;
  /** Calls when it may look different. */
  readonly watch: (tell: () => void) => Disposable;
  readonly render: () => Promise<string>;
}

const paceMs = 1000;

interface SharedPart extends Disposable {
  readonly render: () => Promise<string>;
  rendered: Promise<string>;
  renderedAt: number;
  /** Whether nothing happened since. */
  isFresh: boolean;
  isPending: boolean;
  readonly alarms: Set<Alarm>;
}

/** What it looks like now; not more often than once a second, however many ask. */
function renderShared(part: SharedPart): Promise<string> {
  const now = performance.now();
  // Not everything that a part shows tells when it changes.
  if (now - part.renderedAt > silenceMs) part.isFresh = false;
  if (part.isFresh || part.isPending) return part.rendered;
  part.isPending = true;
  part.rendered = pause(Math.max(0, part.renderedAt + paceMs - now)).then(() => {
    Object.assign(part, { isPending: false, isFresh: true, renderedAt: performance.now() });
    return part.render();
  });
  return part.rendered;
}

function createSharedPart({ watch, render }: FedPart): SharedPart {
  const alarms = new Set<Alarm>();
  const watching = watch(() => {
    part.isFresh = false;
    for (const alarm of alarms) alarm.ring();
  });
  const part: SharedPart = {
    render,
    rendered: Promise.resolve(''),
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
    async *follow(wanted: FedPart, signal: AbortSignal): AsyncGenerator<ServerEvent | null, void> {
      using alarm = createAlarm(signal);
      using joined = join(wanted, alarm);
      let shown: string | null = null;
      while (!signal.aborted) {
        const now = await renderShared(joined.part);
        yield now === shown ? null : { event: 'part', data: now };
        shown = now;
        await alarm.wait(silenceMs);
      }
    },
  };
}

export type Feeds = ReturnType<typeof createFeeds>;

/**
 * Hears what other processes change, by one connection that listens (LISTEN), so that what was read may be remembered.
 * Fails closed: without proof that notices arrive there is no version, and nothing may be remembered. What is told is
 * decided by the triggers in `migrations/`.
 */
import { randomBytes } from 'node:crypto';
import type { Client } from 'pg';

/** The channel of the triggers. */
const changesChannel = 'workcrate_links';
/** How often a server sends itself a notice while somebody asks for the version, and what was read is read again. */
const beatMs = 1000;
/** For so long after a notice was sent that came back, others are believed to be heard too. */
const heardMs = 2000;

export interface NoticesOptions {
  /** A connection of its own, not yet opened. */
  newClient(): Client;
  /** Sends a notice to a channel by another connection, as those of other servers come. */
  notify(channel: string, payload: string): Promise<unknown>;
}

export type Notices = ReturnType<typeof createNotices>;

/**
 * The version for `Database.version`. The connection is opened when it is first asked for, and a beat is sent only
 * while it is. A beat that comes back proves that all notices before it came too, since PostgreSQL keeps their order. A
 * pooler between us that takes `LISTEN` and drops notices never brings one back.
 */
export function createNotices({ newClient, notify }: NoticesOptions) {
  const beatChannel = `workcrate_beat_${randomBytes(12).toString('hex')}`;
  let count = 0;
  let client: Client | null = null;
  let isListening = false;
  let heardUntil = Number.NEGATIVE_INFINITY;
  let nextBeatAt = Number.NEGATIVE_INFINITY;
  let beating: Promise<void> | null = null;
  let isClosed = false;

  /** Whatever was told since then is not known. */
  function lose(lost: Client): void {
    if (client !== lost) return;
    client = null;
    isListening = false;
    heardUntil = Number.NEGATIVE_INFINITY;
    count++;
    lost.end().catch(ignoreEnd);
  }

  function hear(from: Client, channel: string, payload: string | undefined): void {
    if (client !== from) return;
    count++;
    if (channel === beatChannel) heardUntil = Number(payload) + heardMs;
  }

  async function listen(): Promise<void> {
    const opened = newClient();
    client = opened;
    opened.on('error', () => lose(opened));
    opened.on('end', () => lose(opened));
    opened.on('notification', ({ channel, payload }) => hear(opened, channel, payload));
    try {
      await opened.connect();
      for (const channel of [changesChannel, beatChannel]) await opened.query(`LISTEN ${channel}`);
      isListening = client === opened;
    } catch {
      // The next beat tries again. The queries of the pool say what is wrong with the server.
      lose(opened);
    }
  }

  async function beat(): Promise<void> {
    if (client === null) await listen();
    const sentAt = performance.now();
    nextBeatAt = sentAt + beatMs;
    if (!isListening || isClosed) return;
    // One that fails does not come back.
    await notify(beatChannel, String(sentAt)).catch(ignoreEnd);
  }

  return {
    /** Changes with every notice and at least every beat; null while it is not known that notices arrive. */
    version(): number | null {
      const now = performance.now();
      // One at a time: connecting may take longer than a beat, and closing waits for it.
      if (now >= nextBeatAt && !isClosed) beating ??= beat().finally(() => (beating = null));
      return now < heardUntil && !isClosed ? count : null;
    },

    /** This process has written something. */
    noteOwnWrite(): void {
      count++;
    },

    /** What is being opened is ended once it is open: `end` before that never settles. */
    async close(): Promise<void> {
      isClosed = true;
      heardUntil = Number.NEGATIVE_INFINITY;
      await beating;
      const open = client;
      client = null;
      await open?.end().catch(ignoreEnd);
    },
  };
}

function ignoreEnd(): void {}

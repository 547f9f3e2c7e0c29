import { createHmac, randomUUID } from 'node:crypto';
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../ports/database/database.ts';
import { fetchBounded, type FetchPolicy } from '../../platform/net/bounded-fetch.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { Download } from './download.ts';
import type { Link } from './link.ts';
import type { SharedLink } from './links.ts';

export interface WebhookOptions {
  readonly database: Database;
  readonly url: string | null;
  readonly secret: string | null;
  readonly clock: Clock;
  readonly log: Log;
}

const maxWebhookAttempts = 8;
const maxWaitingEvents = 10_000;
/** The operator chose the URL; the body of the answer is not read. */
const webhookPolicy: FetchPolicy = { timeoutMs: 10_000, maxBytes: 0, privateAddresses: 'allowed' };
const webhookPollMs = 1000;

/**
 * Reports every completed export and download to a URL. Events wait in the database, so that a restart loses none; a
 * receiver may get one twice and recognizes it by its id.
 */
export type Webhook = ReturnType<typeof createWebhook>;

export function createWebhook(options: WebhookOptions) {
  const { database, url, secret, clock, log } = options;
  const stop = new AbortController();
  let running = Promise.resolve();
  let pending = false;
  const timer = url === null ? null : setInterval(deliverSoon, webhookPollMs).unref();

  function deliverSoon(): void {
    if (pending) return;
    pending = true;
    running = running.then(deliverDue).catch((error: unknown) => log.error('webhook.failed', { error }));
  }

  async function deliverDue(): Promise<void> {
    pending = false;
    const due = await database.query<{ id: string; body: string; attempts: number }>(
      'SELECT id, body, attempts FROM outbox WHERE next_at <= ? ORDER BY next_at LIMIT 20',
      clock(),
    );
    for (const event of due) {
      if (stop.signal.aborted) return;
      const failure = await post(event.id, event.body);
      if (failure === null) await forget(event.id);
      else await postpone(event, failure);
    }
  }

  /** A receiver that is down for long must not fill the database. */
  async function isFull(): Promise<boolean> {
    const [row] = await database.query<{ count: number }>('SELECT COUNT(*) AS count FROM outbox');
    const full = (row?.count ?? 0) >= maxWaitingEvents;
    if (full) log.error('webhook.dropped', { waiting: maxWaitingEvents });
    return full;
  }

  const forget = (id: string) => database.query('DELETE FROM outbox WHERE id = ?', id);

  async function postpone(
    { id, attempts }: { id: string; attempts: number },
    failure: string,
  ): Promise<void> {
    log.warn('webhook.not_delivered', { id, attempt: attempts + 1, failure });
    if (attempts + 1 >= maxWebhookAttempts) return void (await forget(id));
    const wait = 1000 * 4 ** attempts;
    await database.query(
      'UPDATE outbox SET attempts = attempts + 1, next_at = ? WHERE id = ?',
      clock() + wait,
      id,
    );
  }

  /** Null when it was accepted, else what went wrong. Redirects are not followed: the operator chose the URL. */
  async function post(id: string, body: string): Promise<string | null> {
    const headers: Record<string, string> = { 'Content-Type': 'application/json', 'Workcrate-Event-Id': id };
    if (secret !== null)
      headers['Workcrate-Signature'] = `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
    const request = { method: 'POST', headers, body, signal: stop.signal } as const;
    try {
      return await fetchBounded(url!, request, webhookPolicy, ({ status }) =>
        status >= 200 && status < 300 ? null : `answered ${status}`,
      );
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  /** Stores an event, to be sent soon. */
  async function tell(event: string, details: Record<string, unknown>): Promise<void> {
    if (url === null || (await isFull())) return;
    const body = JSON.stringify({ event, ...details, at: new Date(clock()).toISOString() });
    await database.query(
      'INSERT INTO outbox (id, body, attempts, next_at, created_at) VALUES (?, ?, 0, ?, ?)',
      randomUUID(),
      body,
      clock(),
      clock(),
    );
    deliverSoon();
  }

  return {
    /** Every byte of a link has been sent. */
    completed: ({ id, owner }: Link, { filename, size, sha256 }: Download): Promise<void> =>
      tell('download.completed', { link_id: id, user: owner, filename, size, sha256 }),

    /** A document was built and has this link. */
    exported: (format: string, { link, download }: SharedLink): Promise<void> => {
      const { id, owner, fileId } = link;
      const { filename, size, sha256 } = download;
      const described = { format, filename, size, sha256 };
      return tell('export.completed', { link_id: id, file_id: fileId, user: owner, ...described });
    },

    async close(): Promise<void> {
      if (timer) clearInterval(timer);
      stop.abort();
      await running;
    },
  };
}

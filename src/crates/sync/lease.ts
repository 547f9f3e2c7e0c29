import { randomBytes } from 'node:crypto';
import type { Clock } from '../../clock.ts';
import type { Database } from '../../database/database.ts';
import { isWorkcrateError, WorkcrateError } from '../../errors.ts';

const holdMs = 60_000;

/**
 * The right of one process to do something. It is renewed until it is given back; `lost` fires where another has it.
 * Given back by disposal alone, it leaves word that the work was cut off.
 */
export interface Lease extends AsyncDisposable {
  readonly lost: AbortSignal;
  /** Whether whoever had it before did not come to an end. */
  readonly wasCutOff: boolean;
  /** To be called once everything is done. */
  finish(): Promise<void>;
}

/** Null while another process holds it. A process that has died loses it within a minute. */
export async function takeLease(database: Database, name: string, clock: Clock): Promise<Lease | null> {
  const holder = randomBytes(12).toString('hex');
  const before = await database.query('SELECT name FROM crate_leases WHERE name = ?', name);
  if (!(await take(database, name, holder, clock))) return null;
  const stop = new AbortController();
  let renewing: Promise<void> | null = null;
  const timer = setInterval(() => {
    // One at a time, also where the database does not answer for long.
    renewing ??= renewOrStop().finally(() => (renewing = null));
  }, holdMs / 4).unref();

  async function renewOrStop(): Promise<void> {
    const isHeld = await renew(database, name, holder, clock).catch(() => null);
    // A database that does not answer for a moment says nothing; one that says no does.
    if (isHeld === false) stop.abort(takenOver());
  }

  async function end(sql: string): Promise<void> {
    clearInterval(timer);
    await renewing;
    await database.query(`${sql} WHERE name = ? AND holder = ?`, name, holder);
  }

  return {
    lost: stop.signal,
    wasCutOff: before.length > 0,
    finish: () => end('DELETE FROM crate_leases'),
    // Nothing is left to change after `finish`, or where another has it by now. Where this fails, it runs out by itself.
    [Symbol.asyncDispose]: () => end('UPDATE crate_leases SET until = 0').catch(tolerateFailedDatabase),
  };
}

const takenOver = (): WorkcrateError =>
  new WorkcrateError(
    'index_busy',
    'Another process has gone on with this, since it was not heard from for a minute. index_status shows how far it is.',
  );

function tolerateFailedDatabase(error: unknown): void {
  if (!isWorkcrateError(error)) throw error;
}

async function take(database: Database, name: string, holder: string, clock: Clock): Promise<boolean> {
  const now = clock();
  const rows = await database.query(
    `INSERT INTO crate_leases (name, holder, until) VALUES (?, ?, ?)
     ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
       WHERE crate_leases.until <= ? RETURNING name`,
    name,
    holder,
    now + holdMs,
    now,
  );
  return rows.length > 0;
}

/** One that has run out is still held, unless another has taken it. */
async function renew(database: Database, name: string, holder: string, clock: Clock): Promise<boolean> {
  const rows = await database.query(
    'UPDATE crate_leases SET until = ? WHERE name = ? AND holder = ? RETURNING name',
    clock() + holdMs,
    name,
    holder,
  );
  return rows.length > 0;
}

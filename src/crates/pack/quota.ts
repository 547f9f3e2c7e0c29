import { randomBytes } from 'node:crypto';
import type { Clock } from '../../clock.ts';
import type { Database, Queries } from '../../database/database.ts';
import { WorkcrateError } from '../../errors.ts';
import type { Quotas } from '../../files/files.ts';
import type { Log } from '../../observability/log.ts';

interface Held {
  readonly bytes: number;
  readonly crates: number;
}

export interface PackQuotaOptions {
  readonly database: Database;
  readonly quotas: Quotas;
  /** What the index knows of: one owner's, everybody's for null, or all of it. */
  readonly held: (owner?: string | null) => Promise<Held>;
  /** Whether each user's crates are counted on their own. Where there is one user, all count as everybody's. */
  readonly isForSeveral: boolean;
  readonly clock: Clock;
  readonly log: Log;
}

/** Makes room for one crate the packer's own, until it is disposed of; `quota_exceeded` where there is none. */
export type ReserveRoom = (owner: string | null, size: number) => Promise<AsyncDisposable>;

/** The reservation of a server that died counts for so long. */
const holdMs = 120_000;
const mostAttempts = 20;

/**
 * Enforces the quotas of files for packed crates, beside those of files. What everybody sees counts as one owner's, so
 * nobody fills the server by sharing. A crate counts from here on until the index knows it, on every server of this
 * database: many that are packed at once do not pass the quota together.
 */
export function createPackQuota(options: PackQuotaOptions): ReserveRoom {
  const { database, held } = options;
  return async (owner, size) => {
    const wanted = { id: randomBytes(12).toString('hex'), owner, size };
    for (let attempt = 1; ; attempt++) {
      const ended = await countEnded(database);
      const known = { own: await held(owner), all: await held() };
      // A packing that ended meanwhile may be neither among those under way nor known to the index: look again.
      const isReserved = await database.transaction(async (tx) => {
        const isCurrent = (await lockPackings(tx)) === ended || attempt === mostAttempts;
        if (isCurrent) await reserve(tx, options, wanted, known);
        return isCurrent;
      });
      if (isReserved) return holdReservation(options, wanted.id);
    }
  };
}

interface Wanted {
  readonly id: string;
  readonly owner: string | null;
  readonly size: number;
}

const lockRow = '';

async function countEnded(database: Queries): Promise<number> {
  const [row] = await database.query<{ bytes: number }>('SELECT bytes FROM packings WHERE id = ?', lockRow);
  return row?.bytes ?? 0;
}

/** Locks the table for others that reserve; gives how many packings have ended. */
async function lockPackings(tx: Queries): Promise<number> {
  await tx.query(
    'INSERT INTO packings (id, owner, bytes, until) VALUES (?, ?, 0, ?) ON CONFLICT DO NOTHING',
    lockRow,
    '',
    Number.MAX_SAFE_INTEGER,
  );
  const [row] = await tx.query<{ bytes: number }>(
    'UPDATE packings SET bytes = bytes WHERE id = ? RETURNING bytes',
    lockRow,
  );
  return row!.bytes;
}

async function reserve(
  tx: Queries,
  options: PackQuotaOptions,
  { id, owner, size }: Wanted,
  known: { readonly own: Held; readonly all: Held },
): Promise<void> {
  const now = timeOf(options);
  await tx.query(`DELETE FROM packings WHERE until <= ${now.sql}`, ...now.values);
  const name = options.isForSeveral ? (owner ?? '') : '';
  demandRoom(
    options.quotas,
    { owner, size },
    {
      own: sum(known.own, await underWay(tx, 'owner = ? AND', name)),
      all: sum(known.all, await underWay(tx, '')),
    },
  );
  await tx.query(
    `INSERT INTO packings (id, owner, bytes, until) VALUES (?, ?, ?, ${now.sql} + ${holdMs})`,
    id,
    name,
    size,
    ...now.values,
  );
}

async function underWay(tx: Queries, whose: string, ...values: string[]): Promise<Held> {
  const [row] = await tx.query<{ bytes: number; crates: number }>(
    `SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) AS bytes, CAST(COUNT(*) AS BIGINT) AS crates
     FROM packings WHERE ${whose} id <> ''`,
    ...values,
  );
  return row!;
}

const sum = (a: Held, b: Held): Held => ({ bytes: a.bytes + b.bytes, crates: a.crates + b.crates });

/** Several servers may use one database, and their clocks differ. */
function timeOf({ database: { sharedClock }, clock }: PackQuotaOptions): { sql: string; values: number[] } {
  return sharedClock === null ? { sql: '?', values: [clock()] } : { sql: sharedClock, values: [] };
}

function holdReservation(options: PackQuotaOptions, id: string): AsyncDisposable {
  const { database, log } = options;
  const renew = (): Promise<unknown> => {
    const now = timeOf(options);
    return database.query(
      `UPDATE packings SET until = ${now.sql} + ${holdMs} WHERE id = ?`,
      ...now.values,
      id,
    );
  };
  const timer = setInterval(() => {
    renew().catch((error: unknown) => log.warn('crates.reservation_not_renewed', { error }));
  }, holdMs / 4).unref();
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      // What was packed is packed. Where this fails, the reservation runs out by itself.
      await release(database, id).catch((error: unknown) =>
        log.warn('crates.reservation_not_released', { error }),
      );
    },
  };
}

function release(database: Database, id: string): Promise<void> {
  return database.transaction(async (tx) => {
    await tx.query('UPDATE packings SET bytes = bytes + 1 WHERE id = ?', lockRow);
    await tx.query('DELETE FROM packings WHERE id = ?', id);
  });
}

function demandRoom(
  { userBytes, userFiles, totalBytes, totalFiles }: Quotas,
  { owner, size }: Omit<Wanted, 'id'>,
  { own, all }: { readonly own: Held; readonly all: Held },
): void {
  if (own.bytes + size > userBytes || own.crates >= userFiles) {
    const whose = owner === null ? 'Shared crates' : 'Your packed crates';
    const most = `${whose} may take ${userBytes} bytes in ${userFiles} crates`;
    throw exceeded(`${most}, and take ${own.bytes} bytes in ${own.crates}; this one has ${size} bytes`);
  }
  // How much others hold is nobody's business.
  if (all.bytes + size > totalBytes || all.crates >= totalFiles)
    throw exceeded('This server has no room left for packed crates');
}

function exceeded(reason: string): WorkcrateError {
  return new WorkcrateError(
    'quota_exceeded',
    `Over quota. ${reason}. Pack less, or ask the operator to delete packed crates from the folder or prefix of --pack-to and then sync_index, or to raise the quota.`,
  );
}

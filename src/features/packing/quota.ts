import { randomBytes } from 'node:crypto';
import type { Clock } from '../../platform/clock.ts';
import type { Database, Queries } from '../../ports/database/database.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import type { Quotas } from '../../core/files/files.ts';
import type { Log } from '../../platform/observability/log.ts';

interface PackedUsage {
  readonly bytes: number;
  readonly crates: number;
}

export interface PackQuotaOptions {
  readonly database: Database;
  readonly quotas: Quotas;
  /** Usage as the index knows it: of one owner, of everybody (null), or in total (undefined). */
  readonly held: (owner?: string | null) => Promise<PackedUsage>;
  /** Whether crates are counted for each user. With a single user, all count as everybody's. */
  readonly isForSeveral: boolean;
  readonly clock: Clock;
  readonly log: Log;
}

/** Reserves quota for one crate until it is disposed of; `quota_exceeded` if there is not enough. */
export type ReservePackQuota = (owner: string | null, size: number) => Promise<AsyncDisposable>;

/** How long the reservation of a server that died still counts. */
const packReservationMs = 120_000;
const maxReserveAttempts = 20;

/**
 * Enforces quotas for packed crates, with the same limits as for files but counted separately. Shared crates count as those
 * of one owner, so that nobody can fill the server by sharing. A reservation counts on every server of this database
 * until the index knows the crate, so that crates that are packed at once cannot exceed the quota together.
 */
export function createPackQuota(options: PackQuotaOptions): ReservePackQuota {
  const { database, held } = options;
  return async (owner, size) => {
    const wanted = { id: randomBytes(12).toString('hex'), owner, size };
    for (let attempt = 1; ; attempt++) {
      const ended = await countEndedPackings(database);
      const known = { own: await held(owner), all: await held() };
      // A crate whose packing ended meanwhile may be neither reserved nor in the index yet: check again.
      const isReserved = await database.transaction(async (tx) => {
        const isCurrent = (await lockPackings(tx)) === ended || attempt === maxReserveAttempts;
        if (isCurrent) await reservePackQuota(tx, options, wanted, known);
        return isCurrent;
      });
      if (isReserved) return holdReservation(options, wanted.id);
    }
  };
}

interface PackReservation {
  readonly id: string;
  readonly owner: string | null;
  readonly size: number;
}

const packingLockRowId = '';

async function countEndedPackings(database: Queries): Promise<number> {
  const [row] = await database.query<{ bytes: number }>(
    'SELECT bytes FROM packings WHERE id = ?',
    packingLockRowId,
  );
  return row?.bytes ?? 0;
}

/** Locks the table against other reservations; gives how many packings have ended. */
async function lockPackings(tx: Queries): Promise<number> {
  await tx.query(
    'INSERT INTO packings (id, owner, bytes, until) VALUES (?, ?, 0, ?) ON CONFLICT DO NOTHING',
    packingLockRowId,
    '',
    Number.MAX_SAFE_INTEGER,
  );
  const [row] = await tx.query<{ bytes: number }>(
    'UPDATE packings SET bytes = bytes WHERE id = ? RETURNING bytes',
    packingLockRowId,
  );
  return row!.bytes;
}

async function reservePackQuota(
  tx: Queries,
  options: PackQuotaOptions,
  { id, owner, size }: PackReservation,
  known: { readonly own: PackedUsage; readonly all: PackedUsage },
): Promise<void> {
  const now = toSqlTime(options);
  await tx.query(`DELETE FROM packings WHERE until <= ${now.sql}`, ...now.values);
  const name = options.isForSeveral ? (owner ?? '') : '';
  checkPackQuota(
    options.quotas,
    { owner, size },
    {
      own: addPackedUsage(known.own, await sumReservations(tx, 'owner = ? AND', name)),
      all: addPackedUsage(known.all, await sumReservations(tx, '')),
    },
  );
  await tx.query(
    `INSERT INTO packings (id, owner, bytes, until) VALUES (?, ?, ?, ${now.sql} + ${packReservationMs})`,
    id,
    name,
    size,
    ...now.values,
  );
}

async function sumReservations(tx: Queries, whose: string, ...values: string[]): Promise<PackedUsage> {
  const [row] = await tx.query<{ bytes: number; crates: number }>(
    `SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) AS bytes, CAST(COUNT(*) AS BIGINT) AS crates
     FROM packings WHERE ${whose} id <> ''`,
    ...values,
  );
  return row!;
}

const addPackedUsage = (a: PackedUsage, b: PackedUsage): PackedUsage => ({
  bytes: a.bytes + b.bytes,
  crates: a.crates + b.crates,
});

/** Several servers may use one database, and their clocks differ. */
function toSqlTime({ database: { sharedClock }, clock }: PackQuotaOptions): {
  sql: string;
  values: number[];
} {
  return sharedClock === null ? { sql: '?', values: [clock()] } : { sql: sharedClock, values: [] };
}

function holdReservation(options: PackQuotaOptions, id: string): AsyncDisposable {
  const { database, log } = options;
  const renew = (): Promise<unknown> => {
    const now = toSqlTime(options);
    return database.query(
      `UPDATE packings SET until = ${now.sql} + ${packReservationMs} WHERE id = ?`,
      ...now.values,
      id,
    );
  };
  const timer = setInterval(() => {
    renew().catch((error: unknown) => log.warn('crates.reservation_not_renewed', { error }));
  }, packReservationMs / 4).unref();
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      // The crate is packed by now. If this fails, the reservation expires by itself.
      await releaseReservation(database, id).catch((error: unknown) =>
        log.warn('crates.reservation_not_released', { error }),
      );
    },
  };
}

function releaseReservation(database: Database, id: string): Promise<void> {
  return database.transaction(async (tx) => {
    await tx.query('UPDATE packings SET bytes = bytes + 1 WHERE id = ?', packingLockRowId);
    await tx.query('DELETE FROM packings WHERE id = ?', id);
  });
}

function checkPackQuota(
  { userBytes, userFiles, totalBytes, totalFiles }: Quotas,
  { owner, size }: Omit<PackReservation, 'id'>,
  { own, all }: { readonly own: PackedUsage; readonly all: PackedUsage },
): void {
  if (own.bytes + size > userBytes || own.crates >= userFiles) {
    const whose = owner === null ? 'Shared crates' : 'Your packed crates';
    const most = `${whose} may use ${userBytes} bytes in ${userFiles} crates`;
    throw packQuotaExceededError(
      `${most}, and use ${own.bytes} bytes in ${own.crates}; this one has ${size} bytes`,
    );
  }
  // How much others use is private.
  if (all.bytes + size > totalBytes || all.crates >= totalFiles)
    throw packQuotaExceededError('This server has no room left for packed crates');
}

function packQuotaExceededError(reason: string): WorkcrateError {
  return new WorkcrateError(
    'quota_exceeded',
    `Over quota. ${reason}. Pack less, or ask the operator to delete packed crates from the folder or prefix of --pack-to and to run sync_index, or to raise the quota.`,
  );
}

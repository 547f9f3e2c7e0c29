/**
 * The quota of a user and of all users together: checked and charged in one UPDATE, before bytes are kept. What
 * uploads reserve is in `core/links/upload.ts`, what runs take on disk in `ports/sandbox/disk-shares.ts`.
 */
import type { Queries } from '../../ports/database/database.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import { formatBytes } from '../../platform/text/text.ts';

export interface Quotas {
  readonly userBytes: number;
  readonly userFiles: number;
  readonly totalBytes: number;
  readonly totalFiles: number;
}

interface Charge {
  readonly bytes: number;
  readonly files: number;
}

/** The row of the usage table for all users together. No user can have this name. */
const allOwners = '*';

/**
 * Charges the quota of a user, or rejects with `quota_exceeded`. One UPDATE checks and adds, so that no two writers can
 * both take the last byte. A negative charge gives back and is never refused.
 */
export async function chargeQuota(tx: Queries, owner: string, amount: Charge, quotas: Quotas): Promise<void> {
  await chargeRow(tx, owner, amount, quotas.userBytes, quotas.userFiles);
  await chargeRow(tx, allOwners, amount, quotas.totalBytes, quotas.totalFiles);
}

async function chargeRow(
  tx: Queries,
  owner: string,
  { bytes, files }: Charge,
  mostBytes: number,
  mostFiles: number,
): Promise<void> {
  await tx.query('INSERT INTO usage (owner) VALUES (?) ON CONFLICT DO NOTHING', owner);
  const conditions = [
    ...(bytes > 0 ? [`AND bytes <= ${mostBytes - bytes}`] : []),
    ...(files > 0 ? [`AND files <= ${mostFiles - files}`] : []),
  ];
  const rows = await tx.query(
    `UPDATE usage SET bytes = bytes + ?, files = files + ? WHERE owner = ? ${conditions.join(' ')} RETURNING owner`,
    bytes,
    files,
    owner,
  );
  if (rows.length === 0) throw await fileQuotaExceededError(tx, owner, mostBytes, mostFiles);
}

/** A SELECT of everybody with files, and of `*`, for one statement with other tables. */
export const usageOwnersSql = 'SELECT owner FROM usage';

/** What is stored or reserved in total. */
export const readTotalUsage = (database: Queries): Promise<Charge> => readUsage(database, allOwners);

/** What is stored or reserved for one user. */
export async function readUsage(database: Queries, owner: string): Promise<Charge> {
  const [row] = await database.query<{ files: number; bytes: number }>(
    'SELECT files, bytes FROM usage WHERE owner = ?',
    owner,
  );
  return { files: row?.files ?? 0, bytes: row?.bytes ?? 0 };
}

/** What is stored or reserved for each user with anything. */
export async function listUsage(database: Queries) {
  return database.query<{ owner: string; files: number; bytes: number }>(
    "SELECT owner, files, bytes FROM usage WHERE owner <> '*' AND (files > 0 OR bytes > 0)",
  );
}

/** Rejects where the database is read-only, by a write that changes nothing. */
export async function checkWritable(database: Queries): Promise<void> {
  await database.query("UPDATE usage SET bytes = bytes WHERE owner = '*'");
}

async function fileQuotaExceededError(
  tx: Queries,
  owner: string,
  mostBytes: number,
  mostFiles: number,
): Promise<WorkcrateError> {
  const [held] = await tx.query<{ bytes: number; files: number }>(
    'SELECT bytes, files FROM usage WHERE owner = ?',
    owner,
  );
  const advice = 'Delete files that are no longer needed (delete_file), or wait until they expire.';
  const details = { mostBytes, mostFiles };
  // A user must not learn how much others have stored.
  if (owner === allOwners)
    return new WorkcrateError('quota_exceeded', `Over quota. This server has no space left. ${advice}`, {
      details,
    });
  return new WorkcrateError(
    'quota_exceeded',
    `Over quota. You may keep ${formatBytes(mostBytes)} in ${mostFiles} files; ${formatBytes(held?.bytes ?? 0)} in ` +
      `${held?.files} files are kept or reserved. ${advice}`,
    { details },
  );
}

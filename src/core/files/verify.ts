/**
 * Compares rows with stored bytes, for `workcrate check`: missing, changed and orphaned bytes, and wrong quota counts. It
 * reports and changes nothing; `sweep.ts` deletes.
 */
import type { Database, Row } from '../../ports/database/database.ts';
import type { Storage } from '../../ports/storage/storage.ts';
import { computeDigest } from './files.ts';
import { fileFromRow, isSameStore, type StoredFile } from './stored-file.ts';
import { isStoreWriter } from './store-writer.ts';
import { findAbandonedUploads, isSuspicious, listOrphans, type OpenUploads } from './sweep.ts';

export interface Verification {
  files: number;
  bytes: number;
  /** What is wrong, a sentence each. */
  readonly problems: string[];
  /** What is to be known, and nothing is wrong with. */
  readonly notes: string[];
}

export interface VerifyOptions {
  readonly database: Database;
  readonly storage: Storage;
  readonly openUploads: OpenUploads;
  /** Compare every byte with its hash, not only the sizes. */
  readonly readData: boolean;
  /** Whether bytes without a row are a problem: not while a server may be storing some. */
  readonly findOrphans: boolean;
  readonly report: (checked: number) => void;
}

/** Compares the rows of files with what is stored. Changes nothing. */
export async function verifyFiles(options: VerifyOptions): Promise<Verification> {
  const result: Verification = { files: 0, bytes: 0, problems: [], notes: [] };
  for await (const file of listEveryFile(options.database)) {
    const problem = await findFileProblem(options, file);
    if (problem !== null && (await hasFileRow(options.database, file)))
      result.problems.push(`${file.id} (${file.name}): ${problem}`);
    result.files++;
    result.bytes += file.size;
    options.report(result.files);
  }
  if (!(await isSameStore(options.database, options.storage)))
    result.problems.push('the stored files belong to another database: a server with both does not start');
  else if (!(await isStoreWriter(options.database, options.storage))) result.notes.push(copyNote);
  else if (options.findOrphans) result.problems.push(...(await findLeftovers(options)));
  result.problems.push(...(await findMiscounts(options)));
  return result;
}

const copyNote =
  'another database writes to this store, so this one is a copy: what the copy does not know was not looked for';

async function* listEveryFile(database: Database): AsyncGenerator<StoredFile> {
  for (let after = ''; ;) {
    const rows = await database.query('SELECT * FROM files WHERE id > ? ORDER BY id LIMIT 500', after);
    yield* rows.map(fileFromRow);
    if (rows.length === 0) return;
    after = String(rows.at(-1)!['id']);
  }
}

async function findFileProblem(
  { storage, readData }: VerifyOptions,
  file: StoredFile,
): Promise<string | null> {
  await using object = await storage.open(file.storageKey);
  if (object === null) return 'its bytes are gone';
  if (object.size !== file.size) return `${object.size} bytes are stored where ${file.size} should be`;
  if (!readData) return null;
  const { sha256 } = await computeDigest(object.read(0, object.size));
  return sha256 === file.sha256 ? null : `its bytes have the sha256 ${sha256}, not ${file.sha256}`;
}

/** A server may have deleted the file since its row was read. */
async function hasFileRow(database: Database, file: StoredFile): Promise<boolean> {
  return (await database.query('SELECT id FROM files WHERE id = ?', file.id)).length > 0;
}

/** Lists bytes that belong to no file and no upload. */
async function findLeftovers(options: VerifyOptions): Promise<string[]> {
  const stores = { ...options, clock: Date.now };
  const remover = options.storage.isShared ? 'a sweep' : 'the next start';
  const keys = await Array.fromAsync(listOrphans(stores));
  const fate = !isSuspicious(keys.length)
    ? `${remover} removes it`
    : options.storage.quarantine !== undefined
      ? `${remover} puts it into quarantine`
      : 'check --remove-orphans removes it';
  const found = keys.map((key) => `${key}: this object belongs to no file; ${fate}`);
  // Bytes of an expired upload are deleted with its row.
  for await (const { id } of findAbandonedUploads(stores, 0))
    found.push(`${id}: these bytes belong to no upload; ${remover} removes them`);
  return found;
}

interface QuotaAccount {
  readonly owner: string;
  readonly bytes: number;
  readonly files: number;
  readonly bytes_held: number;
  readonly files_held: number;
}

/**
 * The counted usage of each user must be the sum of their files and of what their uploads have reserved; `*` is
 * everybody. One statement, since a server may be writing at the same time.
 */
async function findMiscounts({ database, openUploads }: VerifyOptions): Promise<string[]> {
  const rows = await database.query<QuotaAccount & Row>(
    `SELECT owner, CAST(SUM(bytes) AS BIGINT) AS bytes, CAST(SUM(files) AS BIGINT) AS files,
       CAST(SUM(bytes_held) AS BIGINT) AS bytes_held, CAST(SUM(files_held) AS BIGINT) AS files_held
     FROM (
       SELECT owner, bytes, files, 0 AS bytes_held, 0 AS files_held FROM usage
       UNION ALL SELECT owner, 0, 0, size, 1 FROM files
       UNION ALL SELECT '*', 0, 0, size, 1 FROM files
       UNION ALL SELECT owner, 0, 0, reserved, 0 FROM (${openUploads.reservedSql}) AS own
       UNION ALL SELECT '*', 0, 0, reserved, 0 FROM (${openUploads.reservedSql}) AS everybodys
     ) AS accounts
     GROUP BY owner HAVING SUM(bytes) <> SUM(bytes_held) OR SUM(files) <> SUM(files_held)`,
  );
  return rows.map(
    ({ owner, bytes, files, bytes_held, files_held }) =>
      `usage of ${owner}: ${bytes} bytes in ${files} files are counted, but ${bytes_held} in ${files_held} are stored`,
  );
}

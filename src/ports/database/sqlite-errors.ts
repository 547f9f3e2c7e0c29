import type { DatabaseSync } from 'node:sqlite';
import { getErrno, isWorkcrateError, WorkcrateError, type ErrorCode } from '../../platform/errors.ts';
import type { DatabaseCheck } from './database.ts';

// Primary result codes, from https://sqlite.org/rescode.html
const sqliteBusy = 5;
const sqliteReadOnly = 8;
const sqliteCorrupt = 11;
const sqliteIoError = 10;
const sqliteFull = 13;
const sqliteNotADatabase = 26;

/** Whether another process was in the way, for an error made here. */
export function isSqliteBusy(error: unknown): boolean {
  return isWorkcrateError(error) && resultCode(error.cause) === sqliteBusy;
}

/** Whether a SQLite file is damaged, for an error made here. */
export function isDamagedDatabase(error: unknown): boolean {
  const code = isWorkcrateError(error, 'database_failed') ? resultCode(error.cause) : null;
  return code === sqliteCorrupt || code === sqliteNotADatabase;
}

/** Whether the disk did not read, write or sync what it was told to, for an error made here. */
export const isInputOutputError = (error: unknown): boolean =>
  isWorkcrateError(error) && resultCode(getSqliteCause(error)) === sqliteIoError;

/** The error of SQLite itself: for callers there is another around it. */
function getSqliteCause(error: WorkcrateError): unknown {
  const { cause } = error;
  return cause instanceof Error && !('errcode' in cause) ? cause.cause : cause;
}

/** Whether the disk was full, for an error made here. */
export const isFull = (error: unknown): boolean => isWorkcrateError(error, 'storage_full');

/** Whether a file could not be opened because its disk is full: SQLite may only say that it could not write. */
export function mayBeFull(error: unknown): boolean {
  return isFull(error) || isInputOutputError(error);
}

/** For operators, when a database is opened: it names the file. */
export function sqliteError(error: unknown, file: string): WorkcrateError {
  if (isWorkcrateError(error)) return error;
  const [code, advice] = explainSqliteCode(error);
  return new WorkcrateError(code, `${describeSqliteError(error, file)} ${advice}`.trim(), { cause: error });
}

/** For any caller of a query: only the log names the file. */
export function sqliteQueryError(error: unknown, file: string): WorkcrateError {
  const failure = sqliteError(error, file);
  const message = sqliteCallerMessages[failure.code];
  if (isWorkcrateError(error) || message === undefined) return failure;
  return new WorkcrateError(failure.code, message, {
    cause: new Error(describeSqliteError(error, file), { cause: error }),
  });
}

const sqliteCallerMessages: Partial<Record<ErrorCode, string>> = {
  storage_full:
    'The disk of the server is full, so nothing can be written. What was acknowledged is safe. Ask the ' +
    'operator to free some space, then try again.',
  storage_read_only:
    'The database of the server cannot be written to. What was acknowledged is safe. The log of the server says more.',
};

function describeSqliteError(error: unknown, file: string): string {
  return `SQLite at ${file}: ${error instanceof Error ? error.message : String(error)}.`;
}

function explainSqliteCode(error: unknown): [ErrorCode, string] {
  switch (getErrno(error) ?? resultCode(error)) {
    case sqliteFull:
    case 'ENOSPC':
    case 'EDQUOT':
      return ['storage_full', 'Free some space; what was acknowledged is safe.'];
    case sqliteReadOnly:
    case 'EROFS':
    case 'EACCES':
    case 'EPERM':
      return ['storage_read_only', 'Let the user that runs Workcrate write to the file and its folder.'];
    case sqliteCorrupt:
    case sqliteNotADatabase:
      return ['database_failed', 'The file is damaged or not a database: restore it from a backup.'];
    case sqliteBusy:
      return ['database_failed', 'Another process uses it: end that one, or try again later.'];
    default:
      return ['database_failed', ''];
  }
}

/** The primary result code; node:sqlite gives the extended one, which holds it in its low byte. */
function resultCode(error: unknown): number | null {
  const code = error instanceof Error && 'errcode' in error ? error.errcode : null;
  return typeof code === 'number' ? code & 0xff : null;
}

const maxDatabaseProblems = 100;

/** Every page, every index against its table, and every foreign key. It takes as long as reading the file. */
export function verifySqlite(connection: DatabaseSync): DatabaseCheck {
  const by = 'integrity_check and foreign_key_check of SQLite';
  try {
    const found = connection.prepare(`PRAGMA integrity_check(${maxDatabaseProblems})`).all();
    const damaged = found.map((row) => String(row['integrity_check'])).filter((text) => text !== 'ok');
    const keys = connection.prepare('PRAGMA foreign_key_check').all();
    const broken = keys.map(
      (row) => `a row of ${String(row['table'])} refers to a missing row of ${String(row['parent'])}`,
    );
    return { by, problems: [...damaged, ...broken].slice(0, maxDatabaseProblems) };
  } catch (error) {
    return { by, problems: [`it cannot be read to the end: ${(error as Error).message}`] };
  }
}

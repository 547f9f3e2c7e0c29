import { type ErrorCode, errnoOf, isWorkcrateError, WorkcrateError } from '../errors.ts';

// Primary result codes, from https://sqlite.org/rescode.html
const BUSY = 5;
const READ_ONLY = 8;
const CORRUPT = 11;
const FULL = 13;
const NOT_A_DATABASE = 26;

/** Whether another process was in the way, for an error made here. */
export function isBusy(error: unknown): boolean {
  return isWorkcrateError(error) && resultCode(error.cause) === BUSY;
}

export function sqliteError(error: unknown, file: string): WorkcrateError {
  if (isWorkcrateError(error)) return error;
  const [code, advice] = meaningOf(error);
  const reason = error instanceof Error ? error.message : String(error);
  return new WorkcrateError(code, `SQLite at ${file}: ${reason}. ${advice}`.trim(), { cause: error });
}

function meaningOf(error: unknown): [ErrorCode, string] {
  switch (errnoOf(error) ?? resultCode(error)) {
    case FULL:
    case 'ENOSPC':
    case 'EDQUOT':
      return ['storage_full', 'Free some space; what was acknowledged is safe.'];
    case READ_ONLY:
    case 'EROFS':
    case 'EACCES':
    case 'EPERM':
      return ['storage_read_only', 'Let the user that runs Workcrate write to the file and its folder.'];
    case CORRUPT:
    case NOT_A_DATABASE:
      return ['database_failed', 'The file is damaged or not a database: restore it from a backup.'];
    case BUSY:
      return ['database_failed', 'Another process holds it: end that one, or try again later.'];
    default:
      return ['database_failed', ''];
  }
}

/** The primary result code; node:sqlite gives the extended one, which holds it in its low byte. */
function resultCode(error: unknown): number | null {
  const code = error instanceof Error && 'errcode' in error ? error.errcode : null;
  return typeof code === 'number' ? code & 0xff : null;
}

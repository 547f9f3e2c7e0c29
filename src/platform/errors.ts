/**
 * The error that every room throws, with its stable code. Codes are a contract. HTTP statuses are chosen in
 * `platform/http/answer.ts`, answers of tools in `surfaces/mcp/`.
 */
import { constants } from 'node:os';
import type codes from './error-codes.json';

/**
 * Every failure that a caller can act on, by its stable code. What each means and what to do about it is in
 * `error-codes.json`; `scripts/errors-docs.ts` makes docs/reference/errors.md from it.
 */
export type ErrorCode = keyof typeof codes;

/** A failure with a stable code and a message that says what to do about it. */
export class WorkcrateError extends Error {
  readonly code: ErrorCode;
  /** Facts for the caller, such as the offset that the server holds. Never a secret. */
  readonly details: Readonly<Record<string, string | number>>;

  constructor(
    code: ErrorCode,
    message: string,
    options: { cause?: unknown; details?: Record<string, string | number> } = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.name = 'WorkcrateError';
    this.code = code;
    this.details = options.details ?? {};
  }
}

export function isWorkcrateError(error: unknown, code?: ErrorCode): error is WorkcrateError {
  return error instanceof WorkcrateError && (code === undefined || error.code === code);
}

/** The errno name of a system error (`ENOENT`), or null for anything else. */
export function getErrno(error: unknown): string | null {
  const { code, errno } = error instanceof Error ? (error as NodeJS.ErrnoException) : {};
  // Node knows this one by its number alone.
  if (errno === -constants.errno.EDQUOT) return 'EDQUOT';
  return typeof code === 'string' && /^E[A-Z0-9]+$/.test(code) ? code : null;
}

/** The message for callers: that of a failed database could name files of the server. */
export function publicMessage(error: WorkcrateError): string {
  if (error.code.startsWith('database_')) return 'The database failed. The log of the server says why.';
  return error.message.length > maxPublicCharacters
    ? `${error.message.slice(0, maxPublicCharacters)}…`
    : error.message;
}

/** A message may quote what came, and that may be megabytes. */
const maxPublicCharacters = 10_000;

/** Errors that the operator has to fix. Their cause belongs in the log, since the caller does not get it. */
export function isOurFault({ code }: WorkcrateError): boolean {
  return /^(?:internal$|out_of_descriptors$|storage_|database_|file_damaged$|sandbox_failed$|artifact_failed$)/.test(
    code,
  );
}

/** Anything that is not a WorkcrateError is our own fault, and its text stays in the log. */
export function asWorkcrateError(error: unknown): WorkcrateError {
  if (error instanceof WorkcrateError) return error;
  return new WorkcrateError('internal', 'The server failed. Its log says why.', { cause: error });
}

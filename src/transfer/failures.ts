import { isWorkcrateError, WorkcrateError } from '../errors.ts';
import { program } from '../program.ts';

/** Thrown inside this room to end a transfer whose client went away; it never leaves the room. */
export class ClientGone extends Error {}

export function truncated(): WorkcrateError {
  return new WorkcrateError(
    'storage_failed',
    `A stored object is shorter than it was when the download began; run ${program} check --read-data.`,
  );
}

export function unreadable(cause: unknown): WorkcrateError {
  return new WorkcrateError('storage_failed', 'A stored object could not be read; see the cause.', { cause });
}

export function wrongLength(promised: number): WorkcrateError {
  return new WorkcrateError('internal', 'A response body was not of the Content-Length that was promised.', {
    details: { promised },
  });
}

export function errorCodeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** How a read that was told to stop may end, besides ending early. */
export function isAbort(error: unknown): boolean {
  return isWorkcrateError(error, 'cancelled') || (error instanceof Error && error.name === 'AbortError');
}

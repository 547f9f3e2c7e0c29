import { asWorkcrateError, errnoOf, isWorkcrateError, publicMessage, WorkcrateError } from '../errors.ts';
import type { RefusalKind } from '../paths/paths.ts';

/** The texts are part of the specification (A3, A5, A6, A7): programs and people know them. */
export function notAFilename(name: string): WorkcrateError {
  return invalid(name, String.raw`must be a filename, not a path (no '/' or '\' allowed)`);
}

export function startsWithDot(name: string): WorkcrateError {
  return invalid(name, "cannot start with '.'");
}

export function brokenEncoding(name: string): WorkcrateError {
  return invalid(name, 'its percent encoding is broken');
}

function invalid(name: string, reason: string): WorkcrateError {
  return new WorkcrateError('invalid_input', `Invalid artifact path '${name}': ${reason}`);
}

export function artifactNotFound(name: string, cause?: unknown): WorkcrateError {
  return new WorkcrateError('not_found', `Artifact not found: ${name}`, { cause });
}

export function artifactTooLarge(name: string, size: number, limit: number): WorkcrateError {
  return new WorkcrateError(
    'artifact_too_large',
    `Artifact '${name}' is ${size} bytes, exceeds limit of ${limit} bytes`,
    { details: { size, limit } },
  );
}

const attempts = {
  list: 'Failed to list artifacts',
  size: 'Failed to check artifact size',
  encode: 'Failed to encode artifact',
} as const;

export function artifactFailed(attempt: keyof typeof attempts, cause: unknown): WorkcrateError {
  return new WorkcrateError('artifact_failed', `${attempts[attempt]}: ${reasonOf(cause)}`, { cause });
}

/** Says nothing of where the user's folder stands on this machine. */
function reasonOf(cause: unknown): string {
  const errno = errnoOf(cause);
  return errno === null ? publicMessage(asWorkcrateError(cause)) : `the filesystem answered ${errno}`;
}

/** Refusals that mean that no file which may be had has that name. The others are failures. */
const absences: ReadonlySet<unknown> = new Set<RefusalKind>([
  'empty',
  'nul',
  'not_unicode',
  'too_long',
  'link',
  'hidden',
  'not_regular',
]);

export function isAbsence(error: unknown): boolean {
  if (isWorkcrateError(error, 'path_not_found')) return true;
  return isWorkcrateError(error, 'path_refused') && absences.has(error.details['kind']);
}

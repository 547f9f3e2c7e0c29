import { asWorkcrateError, type ErrorCode, type WorkcrateError } from '../errors.ts';
import type { RefusalKind } from '../paths/paths.ts';
import { plainlyDecoded } from '../secrets.ts';
import type { Audit } from './audit.ts';

type Event = Parameters<Audit['violation']>[0];

/** Notes how something failed: a violation where more was tried than may be had. */
export function noteFailure(
  audit: Audit,
  event: Omit<Event, 'result'>,
  cause: unknown,
  signal?: AbortSignal,
): void {
  const error = asWorkcrateError(cause);
  const subject = event.subject ?? textOf(error.details['path']);
  const kind = violationIn(error, subject);
  if (kind !== null) audit.violation({ ...event, subject, result: error.code }, kind, error);
  else audit.note({ ...event, level: 'info', result: signal?.aborted === true ? 'cancelled' : error.code });
}

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);

const violations: ReadonlySet<ErrorCode> = new Set(['path_refused', 'forbidden', 'unauthorized']);
/** What a name that leads elsewhere comes to where names and not paths are taken. */
const absences: ReadonlySet<ErrorCode> = new Set(['invalid_input', 'not_found', 'path_not_found']);

/** Kinds of refused paths that lead nowhere else: plain mistakes, such as a folder where a file was meant. */
const mistakes: ReadonlySet<unknown> = new Set<RefusalKind>([
  'busy',
  'denied',
  'empty',
  'hidden',
  'not_empty',
  'not_folder',
  'not_regular',
  'not_unicode',
  'too_deep',
  'too_long',
]);

function violationIn({ code, details }: WorkcrateError, subject: string | null): string | null {
  if (code === 'path_refused' && mistakes.has(details['kind'])) return null;
  // A key that lacks a scope is asked for more than it is good for, by somebody who could not know.
  if (code === 'forbidden' && details['scope'] !== undefined) return null;
  if (violations.has(code)) return String(details['kind'] ?? code);
  return absences.has(code) && subject !== null && climbs(subject) ? 'traversal' : null;
}

/** As decoded by those who look twice; two of the separators are no UTF-8, and were taken for such by some. */
const separator = String.raw`(?:[/\\]|%c0%af|%c1%9c)`;
const parent = new RegExp(`(?:^|${separator})\\.\\.(?:$|${separator})`, 'i');
const mostLookedAt = 4096;

function climbs(path: string): boolean {
  const decoded = plainlyDecoded(plainlyDecoded(path.slice(0, mostLookedAt)));
  return parent.test(decoded);
}

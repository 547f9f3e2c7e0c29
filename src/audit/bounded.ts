import { withoutSecrets } from '../secrets.ts';
import type { AuditEvent } from './audit.ts';
import { plainJson } from './escape.ts';
import type { Entry } from './line.ts';

/** All as they stand in a line: a character may take six bytes there. */
const mostSubjectBytes = 4096;
const mostNameBytes = 200;
const mostDetails = 20;
const mostDetailBytes = 1000;

/** An event as long as a line may be, and without secrets, whoever tells it. A subject that was cut says how long it was. */
export function bounded(event: AuditEvent, time: number): Entry {
  const { level, subject, client } = event;
  const clean = subject === null ? null : withoutSecrets(subject);
  const shown = clean === null ? null : cut(clean, mostSubjectBytes);
  const details = {
    ...boundedDetails(event.details ?? {}),
    ...(subject !== null && shown !== clean && { subject_bytes: Buffer.byteLength(subject) }),
  };
  return {
    time,
    level,
    // Only the log itself tells of itself: verifying looks at such lines.
    operation: told(event.operation.replace(/^audit\./, 'audit:'), mostNameBytes),
    user: told(event.user, mostNameBytes),
    client: client === null ? null : told(client, mostNameBytes),
    subject: shown,
    result: told(event.result, mostNameBytes),
    ...(Object.keys(details).length > 0 && { details }),
  };
}

function boundedDetails(details: NonNullable<AuditEvent['details']>): NonNullable<AuditEvent['details']> {
  const some = Object.entries(details).slice(0, mostDetails);
  return Object.fromEntries(
    some.map(([name, value]) => [
      told(name, mostNameBytes),
      typeof value === 'string' ? told(value, mostDetailBytes) : value,
    ]),
  );
}

const told = (text: string, most: number): string => cut(withoutSecrets(text), most);

const escapedBytes = (text: string): number => Buffer.byteLength(plainJson(text)) - 2;

/** Whole characters only, and as few as can be looked at: it may be a megabyte. */
function cut(text: string, most: number): string {
  if (text.length * 6 <= most || (text.length <= most && escapedBytes(text) <= most)) return text;
  const room = most - Buffer.byteLength('…');
  let [fits, fitsNot] = [0, Math.min(text.length, room) + 1];
  while (fitsNot - fits > 1) {
    const middle = (fits + fitsNot) >> 1;
    if (escapedBytes(text.slice(0, middle)) <= room) fits = middle;
    else fitsNot = middle;
  }
  const isSplit = /[\ud800-\udbff]/.test(text.charAt(fits - 1)) && /[\udc00-\udfff]/.test(text.charAt(fits));
  return `${text.slice(0, isSplit ? fits - 1 : fits)}…`;
}

import type { AuditEvent } from './audit.ts';
import type { Entry } from './line.ts';

const mostSubjectBytes = 4096;
const mostNameBytes = 200;
const mostDetails = 20;
const mostDetailBytes = 1000;

/** An event that is as long as a line may be. A subject that was cut says how long it was. */
export function bounded(event: AuditEvent, time: number): Entry {
  const { level, subject, client } = event;
  const bytes = subject === null ? 0 : Buffer.byteLength(subject);
  const details = {
    ...boundedDetails(event.details ?? {}),
    ...(bytes > mostSubjectBytes && { subject_bytes: bytes }),
  };
  return {
    time,
    level,
    operation: cut(event.operation, mostNameBytes),
    user: cut(event.user, mostNameBytes),
    client: client === null ? null : cut(client, mostNameBytes),
    subject: subject === null ? null : cut(subject, mostSubjectBytes),
    result: cut(event.result, mostNameBytes),
    ...(Object.keys(details).length > 0 && { details }),
  };
}

function boundedDetails(details: NonNullable<AuditEvent['details']>): NonNullable<AuditEvent['details']> {
  const some = Object.entries(details).slice(0, mostDetails);
  return Object.fromEntries(
    some.map(([name, value]) => [
      cut(name, mostNameBytes),
      typeof value === 'string' ? cut(value, mostDetailBytes) : value,
    ]),
  );
}

/** Whole characters only, and as few as can be looked at: it may be a megabyte. */
function cut(text: string, most: number): string {
  if (text.length * 3 <= most || Buffer.byteLength(text) <= most) return text;
  const room = Buffer.from(text.slice(0, most)).subarray(0, most - 3);
  return `${new TextDecoder().decode(room, { stream: true })}…`;
}

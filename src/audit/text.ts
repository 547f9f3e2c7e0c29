import { plainJson } from './escape.ts';
import type { FoundLine } from './search.ts';

/** A line for people. Nothing in it acts on a terminal or looks like another line. */
export function lineText({ time, level, user, operation, result, subject, ...more }: FoundLine): string {
  const parts = [
    time,
    level.padEnd(7),
    plain(user),
    plain(operation),
    plain(result),
    ...(subject === null ? [] : [plainJson(subject)]),
    ...(more.client === null ? [] : [`client=${plainJson(more.client)}`]),
    ...Object.entries(more.details ?? {}).map(([name, value]) => `${plain(name)}=${plainJson(value)}`),
    ...(more.intact ? [] : ['(changed after it was written)']),
  ];
  return parts.join('  ');
}

/** Names stand without quotes as long as they are names. */
const plain = (name: string): string => (/^[\w.@:+-]+$/.test(name) ? name : plainJson(name));

import { plainJson } from './escape.ts';
import type { FoundLine, FoundLines } from './search.ts';

/** A page for people, with what has to be said to go on from it. */
export function pageText({ lines, next, passedOver }: FoundLines, more: (next: string) => string): string {
  const parts = [
    ...(lines.length === 0 ? [next === null ? 'No line matches.' : 'No line matches so far.'] : []),
    ...lines.map(lineText),
    ...(next === null ? [] : [`There may be more: ${more(next)}`]),
    ...passedOver.map((file) => `${file} is a link, a folder or a pipe, and was not read.`),
  ];
  return parts.join('\n');
}

/** A line for people. Nothing in it acts on a terminal or looks like another line. */
function lineText({ time, level, user, operation, result, subject, ...more }: FoundLine): string {
  const parts = [
    plain(time),
    plain(level).padEnd(7),
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

import { createHash } from 'node:crypto';
import { BoundedMap } from '../../concurrency/bounded-map.ts';
import type { Bibliography } from '../citations/bibliography.ts';

const mostEntries = 8;
/** A longer bibliography is read anew each time: what it takes in memory is many times its length. */
const mostLength = 1024 ** 2;

/**
 * A document is built many times, while its bibliography stays as it is; to convert one of a hundred entries takes a
 * fifth of the time of the whole. The ones used last are kept, for as long as the process lives.
 */
export function rememberBibliographies() {
  const known = new BoundedMap<string, Bibliography>({ mostEntries });

  return async (
    text: string,
    terms: readonly string[],
    read: () => Promise<Bibliography>,
  ): Promise<Bibliography> => {
    if (text.length > mostLength) return read();
    const key = digestOf([text, ...terms]);
    const bibliography = known.get(key) ?? (await read());
    known.set(key, bibliography);
    return bibliography;
  };
}

export type Remembered = ReturnType<typeof rememberBibliographies>;

const digestOf = (parts: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('base64');

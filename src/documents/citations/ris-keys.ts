import type { RisRecord } from './ris-record.ts';

/**
 * Keys of records: their own ID, else the first author and the year, as in `Doe_2020`, and a letter where that is
 * taken: `Doe_2020a`. These are the keys that Pandoc gives too.
 */
export function generatedKeys(records: readonly RisRecord[]): string[] {
  const taken = new Set(records.flatMap(({ fields }) => fields.get('ID')?.[0] ?? []));
  return records.map(({ fields }, at) => {
    const own = fields.get('ID')?.[0];
    if (own !== undefined) return own;
    const key = free(keyOf(fields) || `record_${at + 1}`, taken);
    taken.add(key);
    return key;
  });
}

function keyOf(fields: RisRecord['fields']): string {
  const first = (...tags: string[]): string => tags.flatMap((tag) => fields.get(tag) ?? [])[0] ?? '';
  const who = plain(first('AU', 'A1', 'ED', 'A2').split(',')[0]!) || plain(first('TI', 'T1').split(' ')[0]!);
  const year = /\d{4}/.exec(first('PY', 'Y1', 'DA'))?.[0];
  return [who, year].filter(Boolean).join('_');
}

/** What can be cited without further signs. */
const plain = (text: string): string =>
  text
    .normalize('NFC')
    .replaceAll(/[^\p{L}\p{N}]+/gu, '_')
    .replaceAll(/^_+|_+$/g, '')
    .slice(0, 100);

function free(key: string, taken: ReadonlySet<string>): string {
  if (!taken.has(key)) return key;
  for (let number = 1; ; number += 1) {
    const next = `${key}${letters(number)}`;
    if (!taken.has(next)) return next;
  }
}

/** 1 is a, 26 is z, 27 is aa. */
function letters(number: number): string {
  const rest = Math.floor((number - 1) / 26);
  return `${rest > 0 ? letters(rest) : ''}${String.fromCodePoint(97 + ((number - 1) % 26))}`;
}

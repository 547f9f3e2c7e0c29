/**
 * The rows of a table in HTML that code made, as text: a result is shown as a notebook shows it, and nothing of its HTML
 * ever reaches a page. It goes through hostile HTML once.
 */

const mostRows = 100;
const mostColumns = 40;
const maxCellCharacters = 300;

export interface TableRows {
  /** The first one has the headings, if there are any. */
  readonly head: readonly string[];
  readonly body: readonly (readonly string[])[];
}

/** Tags end at the next one: without that, one that never ends would be looked for again from each. */
const piece = /<(?<close>\/?)(?<tag>[a-z][a-z0-9]*)(?<rest>[^<>]*)>|[^<]+|</gi;

/** Null where there is no table. */
export function readHtmlTable(markup: string): TableRows | null {
  const rows: string[][] = [];
  let headRows = 0;
  let cell: string | null = null;
  let hidden: string | null = null;
  let isHead = false;
  const endCell = (): void => {
    const row = rows.at(-1);
    if (cell !== null && row !== undefined && row.length < mostColumns)
      row.push(decodeText(cell).replaceAll(/\s+/g, ' ').trim().slice(0, maxCellCharacters));
    cell = null;
  };
  for (const { 0: text, groups } of markup.matchAll(piece)) {
    const tag = groups?.['tag']?.toLowerCase();
    const isClosing = groups?.['close'] === '/';
    if (hidden !== null) {
      if (isClosing && tag === hidden) hidden = null;
      continue;
    }
    if (tag === undefined) {
      if (cell !== null && cell.length < 10 * maxCellCharacters) cell += text;
      continue;
    }
    if (tag === 'style' || tag === 'script') hidden = isClosing ? null : tag;
    if (tag === 'thead') isHead = !isClosing;
    if (['tr', 'td', 'th', 'table'].includes(tag)) endCell();
    if (tag === 'table' && isClosing) break;
    if (isClosing) continue;
    if (tag === 'tr') {
      if (rows.length > mostRows) break;
      rows.push([]);
      if (isHead) headRows++;
    }
    if (tag === 'td' || tag === 'th') cell = '';
  }
  if (rows.length === 0) return null;
  return { head: headRows === 0 ? [] : rows[0]!, body: rows.slice(headRows === 0 ? 0 : 1) };
}

const entities: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
};

const decodeText = (text: string): string =>
  text.replaceAll(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,6}));/gi, (whole, decimal, hex, name) => {
    if (name !== undefined) return entities[name as string] ?? (whole as string);
    const code = decimal === undefined ? Number.parseInt(hex as string, 16) : Number(decimal);
    return code > 0 && code <= 0x10_ffff ? String.fromCodePoint(code) : (whole as string);
  });

import { demandFew, invalid, type CslItem } from './reference.ts';
import { generatedKeys } from './ris-keys.ts';
import { cslTypes, type RisRecord, toCsl } from './ris-record.ts';

const tagged = /^\s{0,20}([A-Z][A-Z0-9]) {1,2}-(?:\s(.*))?$/;
/** What may go on in the next line. */
const wraps = new Set(['AB', 'N1', 'N2', 'TI', 'T1', 'T2', 'T3', 'BT', 'KW', 'AD', 'C1', 'C2', 'UR', 'RN']);

/** RIS as CSL: Pandoc's own reader knows few types, no dates with months and no text of several lines. */
export function readRis(text: string): CslItem[] {
  const records = recordsOf(text);
  demandFew(records.length);
  const keys = generatedKeys(records);
  return records.map((record, at) => toCsl(record, keys[at]!));
}

function recordsOf(text: string): RisRecord[] {
  const records: RisRecord[] = [];
  let open: { line: number; fields: Map<string, string[]>; last: string } | null = null;
  for (const [at, content] of text.split(/\r\n|\r|\n/).entries()) {
    const line = at + 1;
    const found = tagged.exec(content);
    if (found === null) {
      if (content.trim() === '' || open === null) continue;
      continueLast(open, content.trim(), line);
      continue;
    }
    const [, tag = '', value = ''] = found;
    if (tag === 'TY') {
      if (open) throw unended(open.line);
      open = { line, fields: new Map([['TY', [typeIn(value, line)]]]), last: 'TY' };
    } else if (open === null)
      throw invalid(`\`${tag}\` stands outside of a record; a record begins with \`TY  - \`.`, line);
    else if (tag === 'ER') {
      records.push(open);
      open = null;
    } else {
      open.last = tag;
      if (value.trim() !== '') open.fields.set(tag, [...(open.fields.get(tag) ?? []), value.trim()]);
    }
  }
  if (open) throw unended(open.line);
  return records;
}

function continueLast(
  open: { fields: Map<string, string[]>; last: string },
  more: string,
  line: number,
): void {
  if (!wraps.has(open.last))
    throw invalid(
      'this is no field of RIS: a field is two letters, two spaces, a hyphen, a space and its value.',
      line,
    );
  const values = open.fields.get(open.last) ?? [];
  open.fields.set(open.last, [...values.slice(0, -1), `${values.at(-1) ?? ''} ${more}`.trim()]);
}

function typeIn(value: string, line: number): string {
  const type = value.trim().toUpperCase();
  if (Object.hasOwn(cslTypes, type)) return type;
  throw invalid(
    `\`${type.slice(0, 40)}\` is no type of RIS; JOUR, BOOK, CHAP, CONF, RPRT, THES, ELEC and GEN are some.`,
    line,
  );
}

const unended = (line: number) =>
  invalid('the record that begins here does not end: `ER  - ` is missing.', line);

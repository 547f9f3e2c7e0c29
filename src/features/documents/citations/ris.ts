import { checkFewReferences, invalidBibliographyError, type BibliographyItem } from './csl.ts';

const risTagLine = /^\s{0,20}([A-Z][A-Z0-9]) {1,2}-(?:\s(.*))?$/;
/** Fields that may continue on the next line. */
const multilineRisTags = new Set([
  'AB',
  'N1',
  'N2',
  'TI',
  'T1',
  'T2',
  'T3',
  'BT',
  'KW',
  'AD',
  'C1',
  'C2',
  'UR',
  'RN',
]);

/** Reads RIS as CSL. Pandoc's own reader knows few types, no months in dates and no text of several lines. */
export function readRis(text: string): BibliographyItem[] {
  const records = parseRisRecords(text);
  checkFewReferences(records.length);
  const keys = generateRisKeys(records);
  return records.map((record, at) => risToCsl(record, keys[at]!));
}

function parseRisRecords(text: string): RisRecord[] {
  const records: RisRecord[] = [];
  let open: { line: number; fields: Map<string, string[]>; last: string } | null = null;
  for (const [at, content] of text.split(/\r\n|\r|\n/).entries()) {
    const line = at + 1;
    const found = risTagLine.exec(content);
    if (found === null) {
      if (content.trim() === '' || open === null) continue;
      continueRisField(open, content.trim(), line);
      continue;
    }
    const [, tag = '', value = ''] = found;
    if (tag === 'TY') {
      if (open) throw unendedRisRecordError(open.line);
      open = { line, fields: new Map([['TY', [checkRisType(value, line)]]]), last: 'TY' };
    } else if (open === null)
      throw invalidBibliographyError(
        `\`${tag}\` is outside of a record; a record begins with \`TY  - \`.`,
        line,
      );
    else if (tag === 'ER') {
      records.push(open);
      open = null;
    } else {
      open.last = tag;
      if (value.trim() !== '') open.fields.set(tag, [...(open.fields.get(tag) ?? []), value.trim()]);
    }
  }
  if (open) throw unendedRisRecordError(open.line);
  return records;
}

function continueRisField(
  open: { fields: Map<string, string[]>; last: string },
  more: string,
  line: number,
): void {
  if (!multilineRisTags.has(open.last))
    throw invalidBibliographyError(
      'this is not a RIS field: a field is two letters, two spaces, a hyphen, a space and its value.',
      line,
    );
  const values = open.fields.get(open.last) ?? [];
  open.fields.set(open.last, [...values.slice(0, -1), `${values.at(-1) ?? ''} ${more}`.trim()]);
}

function checkRisType(value: string, line: number): string {
  const type = value.trim().toUpperCase();
  if (Object.hasOwn(cslTypesByRisType, type)) return type;
  throw invalidBibliographyError(
    `\`${type.slice(0, 40)}\` is not a RIS type; use one such as JOUR, BOOK, CHAP, CONF, RPRT, THES, ELEC or GEN.`,
    line,
  );
}

const unendedRisRecordError = (line: number) =>
  invalidBibliographyError('the record that begins here does not end: `ER  - ` is missing.', line);

/**
 * Keys of records: their own ID, else the first author and the year, as in `Doe_2020`, and a letter where that is
 * taken: `Doe_2020a`. These are the keys that Pandoc gives too.
 */
function generateRisKeys(records: readonly RisRecord[]): string[] {
  const taken = new Set(records.flatMap(({ fields }) => fields.get('ID')?.[0] ?? []));
  return records.map(({ fields }, at) => {
    const own = fields.get('ID')?.[0];
    if (own !== undefined) return own;
    const key = findFreeKey(generateRisKey(fields) || `record_${at + 1}`, taken);
    taken.add(key);
    return key;
  });
}

function generateRisKey(fields: RisRecord['fields']): string {
  const first = (...tags: string[]): string => tags.flatMap((tag) => fields.get(tag) ?? [])[0] ?? '';
  const who =
    toCitationKeyPart(first('AU', 'A1', 'ED', 'A2').split(',')[0]!) ||
    toCitationKeyPart(first('TI', 'T1').split(' ')[0]!);
  const year = /\d{4}/.exec(first('PY', 'Y1', 'DA'))?.[0];
  return [who, year].filter(Boolean).join('_');
}

/** Only characters that can be cited without braces. */
const toCitationKeyPart = (text: string): string =>
  text
    .normalize('NFC')
    .replaceAll(/[^\p{L}\p{N}]+/gu, '_')
    .replaceAll(/^_+|_+$/g, '')
    .slice(0, 100);

function findFreeKey(key: string, taken: ReadonlySet<string>): string {
  if (!taken.has(key)) return key;
  for (let number = 1; ; number += 1) {
    const next = `${key}${toLetterSuffix(number)}`;
    if (!taken.has(next)) return next;
  }
}

/** 1 is a, 26 is z, 27 is aa. */
function toLetterSuffix(number: number): string {
  const rest = Math.floor((number - 1) / 26);
  return `${rest > 0 ? toLetterSuffix(rest) : ''}${String.fromCodePoint(97 + ((number - 1) % 26))}`;
}

export interface RisRecord {
  readonly line: number;
  readonly fields: ReadonlyMap<string, readonly string[]>;
}

/** The RIS types and their names in CSL. */
const cslTypesByRisType: Readonly<Record<string, string>> = {
  ABST: 'article-journal',
  ADVS: 'motion_picture',
  AGGR: 'dataset',
  ANCIENT: 'classic',
  ART: 'graphic',
  BILL: 'bill',
  BLOG: 'post-weblog',
  BOOK: 'book',
  CASE: 'legal_case',
  CHAP: 'chapter',
  CHART: 'graphic',
  CLSWK: 'classic',
  COMP: 'software',
  CONF: 'paper-conference',
  CPAPER: 'paper-conference',
  CTLG: 'document',
  DATA: 'dataset',
  DBASE: 'dataset',
  DICT: 'entry-dictionary',
  EBOOK: 'book',
  ECHAP: 'chapter',
  EDBOOK: 'book',
  EJOUR: 'article-journal',
  ELEC: 'webpage',
  ENCYC: 'entry-encyclopedia',
  EQUA: 'document',
  FIGURE: 'figure',
  GEN: 'document',
  GOVDOC: 'report',
  GRANT: 'document',
  GRNT: 'document',
  HEAR: 'hearing',
  ICOMM: 'webpage',
  INPR: 'article-journal',
  INTV: 'interview',
  JFULL: 'periodical',
  JOUR: 'article-journal',
  LEGAL: 'regulation',
  MANSCPT: 'manuscript',
  MAP: 'map',
  MGZN: 'article-magazine',
  MPCT: 'motion_picture',
  MULTI: 'webpage',
  MUSIC: 'musical_score',
  NEWS: 'article-newspaper',
  PAMP: 'pamphlet',
  PAT: 'patent',
  PCOMM: 'personal_communication',
  PODCST: 'broadcast',
  PRESS: 'article-newspaper',
  RPRT: 'report',
  SER: 'book',
  SLIDE: 'speech',
  SOUND: 'song',
  STAND: 'standard',
  STAT: 'legislation',
  STD: 'standard',
  THES: 'thesis',
  UNBILL: 'bill',
  UNPB: 'manuscript',
  UNPD: 'manuscript',
  VIDEO: 'motion_picture',
  WEB: 'webpage',
};

const wholeWorkTypes = new Set(['book', 'thesis', 'report', 'webpage', 'dataset', 'software', 'document']);

/** Converts a record to CSL. Fields that citations do not need are left out. */
function risToCsl({ fields }: RisRecord, id: string): BibliographyItem {
  const type = cslTypesByRisType[fields.get('TY')![0]!]!;
  const isWhole = wholeWorkTypes.has(type);
  const first = (...tags: string[]): string | undefined => tags.flatMap((tag) => fields.get(tag) ?? [])[0];
  const all = (...tags: string[]): readonly string[] => tags.flatMap((tag) => fields.get(tag) ?? []);
  const container = first('T2', 'JF', 'JO', 'BT', 'J2', 'JA');
  const item = {
    id,
    type,
    title: first('TI', 'T1', ...(isWhole ? ['BT'] : []), 'CT'),
    'title-short': first('ST'),
    [isWhole ? 'collection-title' : 'container-title']: isWhole ? first('T2', 'T3') : container,
    ...(!isWhole && { 'collection-title': first('T3'), 'container-title-short': first('J2', 'JA') }),
    author: toCslNames(all('AU', 'A1')),
    editor: toCslNames(all('ED', 'A2')),
    'collection-editor': toCslNames(all('A3')),
    translator: toCslNames(all('A4')),
    issued: toCslDate(findIssuedDate(fields)),
    accessed: toCslDate(first('Y2')),
    volume: first('VL'),
    [type.startsWith('article') ? 'issue' : 'number']: first('IS', 'M1'),
    page: toPageRange(first('SP'), first('EP')),
    edition: first('ET'),
    publisher: first('PB'),
    'publisher-place': first('CY', 'PP'),
    genre: ['thesis', 'report'].includes(type) ? first('M3') : undefined,
    DOI: first('DO')?.replace(/^(?:https?:\/\/(?:dx\.)?doi\.org\/|doi:\s*)/i, ''),
    URL: first('UR'),
    [type.startsWith('article') ? 'ISSN' : 'ISBN']: first('SN'),
    abstract: first('AB', 'N2'),
    language: first('LA'),
  };
  return Object.fromEntries(
    Object.entries(item).filter(([, value]) => value !== undefined),
  ) as unknown as BibliographyItem;
}

/** `Family, Given, Suffix`; without a comma it is the name of an organization. */
function toCslNames(texts: readonly string[]): object[] | undefined {
  if (texts.length === 0) return undefined;
  return texts.map((text) => {
    const [family = '', given = '', suffix = ''] = text.split(',').map((part) => part.trim());
    if (given === '') return { literal: family };
    return { family, given, ...(suffix !== '' && { suffix }) };
  });
}

/** DA has the month and day, which PY often lacks. */
function findIssuedDate(fields: RisRecord['fields']): string | undefined {
  const year = (fields.get('PY') ?? fields.get('Y1'))?.[0];
  const date = fields.get('DA')?.[0];
  return date !== undefined && (year === undefined || date.startsWith(year.slice(0, 4))) ? date : year;
}

function toCslDate(text: string | undefined): object | undefined {
  if (text === undefined) return undefined;
  const [, ...parts] = /^(\d{4})(?:[/-](\d{1,2}))?(?:[/-](\d{1,2}))?(?!\d)/.exec(text) ?? [];
  const known = parts.filter((part) => part !== undefined).map(Number);
  return known.length === 0 ? { literal: text } : { 'date-parts': [known] };
}

function toPageRange(start: string | undefined, end: string | undefined): string | undefined {
  if (start === undefined || end === undefined || start === end || start.includes('-')) return start ?? end;
  return `${start}-${end}`;
}

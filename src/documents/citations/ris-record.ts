import type { CslItem } from './reference.ts';

export interface RisRecord {
  readonly line: number;
  readonly fields: ReadonlyMap<string, readonly string[]>;
}

/** The types of RIS, and what CSL calls them. */
export const cslTypes: Readonly<Record<string, string>> = {
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

const wholeWorks = new Set(['book', 'thesis', 'report', 'webpage', 'dataset', 'software', 'document']);

/** A record in the terms of CSL. Fields that citations have no use for are left out. */
export function toCsl({ fields }: RisRecord, id: string): CslItem {
  const type = cslTypes[fields.get('TY')![0]!]!;
  const isWhole = wholeWorks.has(type);
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
    author: names(all('AU', 'A1')),
    editor: names(all('ED', 'A2')),
    'collection-editor': names(all('A3')),
    translator: names(all('A4')),
    issued: dateOf(issuedIn(fields)),
    accessed: dateOf(first('Y2')),
    volume: first('VL'),
    [type.startsWith('article') ? 'issue' : 'number']: first('IS', 'M1'),
    page: pages(first('SP'), first('EP')),
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
  ) as unknown as CslItem;
}

/** `Family, Given, Suffix`; without a comma it is the name of a body. */
function names(texts: readonly string[]): object[] | undefined {
  if (texts.length === 0) return undefined;
  return texts.map((text) => {
    const [family = '', given = '', suffix = ''] = text.split(',').map((part) => part.trim());
    if (given === '') return { literal: family };
    return { family, given, ...(suffix !== '' && { suffix }) };
  });
}

/** DA has the month and the day, which PY often has not. */
function issuedIn(fields: RisRecord['fields']): string | undefined {
  const year = (fields.get('PY') ?? fields.get('Y1'))?.[0];
  const date = fields.get('DA')?.[0];
  return date !== undefined && (year === undefined || date.startsWith(year.slice(0, 4))) ? date : year;
}

function dateOf(text: string | undefined): object | undefined {
  if (text === undefined) return undefined;
  const [, ...parts] = /^(\d{4})(?:[/-](\d{1,2}))?(?:[/-](\d{1,2}))?(?!\d)/.exec(text) ?? [];
  const known = parts.filter((part) => part !== undefined).map(Number);
  return known.length === 0 ? { literal: text } : { 'date-parts': [known] };
}

function pages(start: string | undefined, end: string | undefined): string | undefined {
  if (start === undefined || end === undefined || start === end || start.includes('-')) return start ?? end;
  return `${start}-${end}`;
}

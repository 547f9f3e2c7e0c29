import { WorkcrateError } from '../../errors.ts';
import type { Layout, Paper } from '../document.ts';
import type { Ast, Meta, MetaValue } from './ast.ts';
import { metaText, plainText, wordsAsInlines } from './text.ts';

const papersByName: Readonly<Record<string, Paper>> = {
  a4: 'a4',
  a4paper: 'a4',
  letter: 'letter',
  letterpaper: 'letter',
  'us-letter': 'letter',
};
const millimetres: Readonly<Record<string, number>> = { mm: 1, cm: 10, in: 25.4, pt: 25.4 / 72 };
const [leastMargin, mostMargin] = [5, 80];
const [leastFontSize, mostFontSize] = [8, 24];

function parsePaper(text: string): Paper {
  const name = text.trim().toLowerCase();
  if (Object.hasOwn(papersByName, name)) return papersByName[name]!;
  throw wrong('papersize', text, 'a4 or letter');
}

/** In millimetres, of a text such as `2.5cm`, `25mm` or `1in`. */
export function parseMargin(text: string): number {
  const found = /^(?:margin=)?(\d{1,3}(?:\.\d{1,3})?) ?(mm|cm|in|pt)$/.exec(text.trim().toLowerCase());
  const margin = found === null ? Number.NaN : Number(found[1]) * millimetres[found[2]!]!;
  if (margin >= leastMargin && margin <= mostMargin) return Math.round(margin * 100) / 100;
  throw wrong(
    'margin',
    text,
    `a length from ${leastMargin}mm to ${mostMargin}mm, such as 25mm, 2.5cm or 1in`,
  );
}

function parseFontSize(text: string): number {
  const size = Number(/^(\d{1,2}(?:\.\d{1,2})?) ?(?:pt)?$/.exec(text.trim().toLowerCase())?.[1]);
  if (size >= leastFontSize && size <= mostFontSize) return size;
  throw wrong('fontsize', text, `a size from ${leastFontSize}pt to ${mostFontSize}pt, such as 11pt`);
}

function parseLanguage(text: string): string {
  const given = text.trim().replaceAll('_', '-');
  if (/^[a-z]{2,3}(-[a-z0-9]{2,8}){0,4}$/i.test(given)) return given;
  throw wrong('lang', text, 'a language such as en or de-CH');
}

function parseFlag(key: string, text: string): boolean {
  const given = text.trim().toLowerCase();
  if (given === 'true' || given === 'yes') return true;
  if (given === 'false' || given === 'no') return false;
  throw wrong(key, text, 'true or false');
}

/** The text of a value that has to be one. */
function demandText(key: string, value: MetaValue, most: number): string {
  const text = metaText(value);
  if (text === null) throw wrong(key, value.t === 'MetaList' ? 'a list' : 'a nested value', 'a line of text');
  if (text.length > most) throw wrong(key, text, `at most ${most} characters`);
  return text;
}

function wrong(key: string, given: string, wanted: string): WorkcrateError {
  const shown = JSON.stringify(given.length > 60 ? `${given.slice(0, 60)}…` : given);
  return new WorkcrateError('document_invalid', `“${key}” is ${shown}, but has to be ${wanted}.`, {
    details: { key },
  });
}

type Told = { -readonly [Key in keyof Layout]?: Layout[Key] };

/** The metadata that stays with a document, and what it says of the layout. */
export interface FrontMatter {
  readonly meta: Meta;
  readonly layout: Partial<Layout>;
  /** Keys that mean nothing here. */
  readonly ignored: readonly string[];
}

const mostLine = 1000;
const mostAbstract = 20_000;
const mostAuthors = 200;
const mostKeywords = 100;
const mostNamed = 20;

/** What stays as it is written, by how long it may be. */
const lines = new Set(['title', 'subtitle', 'date', 'reference-section-title']);
/** What is given apart from the document. */
const elsewhere = new Set(['bibliography', 'csl', 'references', 'citation-style', 'citation-abbreviations']);

/** What is for the layout alone, and goes from the metadata: writers would put it into code as it is. */
const layouts: Readonly<Record<string, (text: string, layout: Told) => void>> = {
  lang: (text, layout) => (layout.language = parseLanguage(text)),
  papersize: (text, layout) => (layout.paper = parsePaper(text)),
  margin: (text, layout) => (layout.marginMm = parseMargin(text)),
  fontsize: (text, layout) => (layout.fontSizePt = parseFontSize(text)),
  toc: (text, layout) => (layout.toc = parseFlag('toc', text)),
  'number-sections': (text, layout) => (layout.numberSections = parseFlag('number-sections', text)),
  numbersections: (text, layout) => (layout.numberSections = parseFlag('numbersections', text)),
};

/** Takes out of the metadata what is known, each in its right form. The inlines in it are judged with the rest. */
export function readFrontMatter(given: Meta): FrontMatter {
  const [layout, meta, ignored]: [Told, Meta, string[]] = [{}, {}, []];
  for (const [key, value] of Object.entries(given)) {
    if (elsewhere.has(key)) throw refused(key);
    if (key === 'geometry' && isMargin(value)) layout.marginMm = parseMargin(metaText(value)!);
    else if (Object.hasOwn(layouts, key)) layouts[key]!(demandText(key, value, mostLine), layout);
    else if (!keep(key, value, meta)) ignored.push(key);
  }
  const authors = given['author'] ?? given['authors'];
  if (authors !== undefined) Object.assign(meta, { author: authorsOf(authors) });
  return { meta, layout, ignored };
}

/** Of what LaTeX's geometry can say, `margin=1in` is understood. */
const isMargin = (value: MetaValue): boolean => /^margin=[^,]*$/.test(metaText(value) ?? '');

/** After citing, which leaves metadata behind that nobody wrote: it goes without a word. */
export function citedMetadata({ lang, ...given }: Meta): Meta {
  const own = Object.entries(given).filter(([key]) => !elsewhere.has(key));
  const { meta, layout } = readFrontMatter({ ...Object.fromEntries(own), ...(lang && { lang }) });
  return layout.language === undefined ? meta : { ...meta, lang: lineOf('lang', lang!) };
}

/** What the front matter names, as text. */
export function namesIn(meta: Meta): Partial<Layout> {
  const { title, date, author } = meta;
  const authors = author?.t === 'MetaList' ? author.c.map((each) => metaText(each) ?? '') : [];
  return {
    ...(title === undefined ? {} : { title: metaText(title) }),
    ...(date === undefined ? {} : { date: metaText(date) }),
    ...(authors.length === 0 ? {} : { authors }),
  };
}

function keep(key: string, value: MetaValue, meta: Meta): boolean {
  if (key === 'author' || key === 'authors') return true;
  if (key === 'link-citations')
    meta[key] = { t: 'MetaBool', c: parseFlag(key, demandText(key, value, mostLine)) };
  else if (lines.has(key)) meta[key] = lineOf(key, value);
  else if (key === 'abstract') meta[key] = abstractOf(value);
  else if (key === 'keywords') meta[key] = listOf(key, value, mostKeywords);
  else if (key === 'nocite') meta[key] = value;
  else return false;
  return true;
}

function lineOf(key: string, value: MetaValue): MetaValue {
  const text = demandText(key, value, mostLine);
  return value.t === 'MetaInlines' ? value : { t: 'MetaInlines', c: wordsAsInlines(text) };
}

function abstractOf(value: MetaValue): MetaValue {
  if (value.t === 'MetaBlocks') {
    const characters = value.c.reduce((sum, block) => sum + JSON.stringify(block).length, 0);
    // Each word is some 40 characters of JSON.
    if (characters > mostAbstract * 10) throw wrong('abstract', '…', `at most ${mostAbstract} characters`);
    return value;
  }
  const text = demandText('abstract', value, mostAbstract);
  return value.t === 'MetaInlines' ? value : { t: 'MetaInlines', c: wordsAsInlines(text) };
}

function listOf(key: string, value: MetaValue, most: number): MetaValue {
  const list = value.t === 'MetaList' ? value.c : [value];
  if (list.length > most) throw wrong(key, `a list of ${list.length}`, `a list of at most ${most}`);
  return { t: 'MetaList', c: list.map((each) => lineOf(key, each)) };
}

/** Names, or maps that have a name. */
function authorsOf(value: MetaValue): MetaValue {
  const list = value.t === 'MetaList' ? value.c : [value];
  const names = list.map((each) => {
    if (each.t !== 'MetaMap') return each;
    const name = Object.hasOwn(each.c, 'name') ? each.c['name'] : undefined;
    if (name === undefined) throw wrong('author', 'a map without a name', 'a name, or a map with “name”');
    return name;
  });
  return listOf('author', { t: 'MetaList', c: names }, mostAuthors);
}

export function ignoredWarning(keys: readonly string[]): string {
  const named = keys.slice(0, mostNamed).map((key) => JSON.stringify(key.slice(0, 40)));
  const more = keys.length > mostNamed ? ` and ${keys.length - mostNamed} more` : '';
  return `The front matter says things that mean nothing here and were left out: ${named.join(', ')}${more}.`;
}

function refused(key: string): WorkcrateError {
  const how =
    key === 'csl' || key === 'citation-style'
      ? 'Give the style as cslContent or by its name instead.'
      : 'Give the references as bibliographyContent instead.';
  return new WorkcrateError('document_invalid', `The front matter must not name “${key}”. ${how}`, {
    details: { key },
  });
}

/**
 * The document with what the layout says. What the front matter says alike stays, with its emphasis and its maths; the
 * rest is words, which every writer escapes.
 */
export function withMetadata(ast: Ast, layout: Layout): Ast {
  const meta: Meta = { ...ast.meta };
  setLine(meta, 'title', layout.title);
  setLine(meta, 'date', layout.date);
  setLine(meta, 'lang', layout.language);
  const known = meta['author'];
  const names = known?.t === 'MetaList' ? known.c : [];
  meta['author'] = { t: 'MetaList', c: layout.authors.map((name, at) => sameOr(names[at], name)) };
  if (layout.authors.length === 0) delete meta['author'];
  return { ...ast, meta };
}

function setLine(meta: Meta, key: string, text: string | null): void {
  if (text === null || text === '') delete meta[key];
  else meta[key] = sameOr(meta[key], text);
}

function sameOr(known: MetaValue | undefined, text: string): MetaValue {
  if (known?.t === 'MetaInlines' && plainText(known.c) === text) return known;
  return { t: 'MetaInlines', c: wordsAsInlines(text) };
}

const start = /^---\s*$/;
const end = /^(?:---|\.\.\.)\s*$/;
const mark = /(?:^|[\s[{,])([&*])([^\s,[\]{}]+)/g;

/** Front matter in which names stand for what was written before: a few of them can grow without bound. */
export function demandNoAliases(lines: readonly string[]): void {
  let at = 0;
  while ((at = next(lines, start, at)) >= 0) {
    const to = isBlank(lines[at + 1]) ? at : next(lines, end, at + 1);
    if (to < 0) return;
    const name = to > at ? aliasIn(lines.slice(at + 1, to)) : null;
    if (name !== null)
      throw new WorkcrateError(
        'document_invalid',
        `The front matter in line ${at + 1} uses an alias (*${name}), which is not taken: write out what it stands for.`,
        { details: { line: at + 1 } },
      );
    at = to + 1;
  }
}

function next(lines: readonly string[], form: RegExp, from: number): number {
  for (let at = from; at < lines.length; at++) if (form.test(lines[at]!)) return at;
  return -1;
}

const isBlank = (line: string | undefined): boolean => line === undefined || line.trim() === '';

/** A name that is both given (`&name`) and used (`*name`): `*emphasis*` and `R &D` are neither. */
function aliasIn(lines: readonly string[]): string | null {
  const [given, used] = [new Set<string>(), new Set<string>()];
  for (const line of lines)
    for (const [, sign, name] of line.matchAll(mark)) (sign === '&' ? given : used).add(name!);
  for (const name of used) if (given.has(name)) return name.slice(0, 40);
  return null;
}

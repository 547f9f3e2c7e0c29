import { WorkcrateError } from '../../errors.ts';
import type { Layout } from '../document.ts';
import type { Ast, Meta, MetaValue } from './ast.ts';
import {
  demandText,
  parseFlag,
  parseFontSize,
  parseLanguage,
  parseMargin,
  parsePaper,
  wrong,
} from './front-matter-values.ts';
import { metaText, plainText, wordsAsInlines } from './text.ts';

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

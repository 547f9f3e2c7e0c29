import { WorkcrateError } from '../../../platform/errors.ts';
import type { DocumentLayout, PaperSize } from '../document.ts';
import type { PandocAst, PandocMeta, PandocMetaValue } from './ast.ts';
import { toMetaText, toInlineText, toWordInlines } from './text.ts';

type MutableLayout = { -readonly [Key in keyof DocumentLayout]?: DocumentLayout[Key] };

/** The metadata that stays in the document, and the layout that was taken out of it. */
export interface FrontMatter {
  readonly meta: PandocMeta;
  readonly layout: Partial<DocumentLayout>;
  /** Keys that are not supported. */
  readonly ignored: readonly string[];
}

const maxFrontMatterLine = 1000;
const maxAbstractCharacters = 20_000;
const maxFrontMatterAuthors = 200;
const maxFrontMatterKeywords = 100;
const maxNamedFrontMatterKeys = 20;

/** Fields that stay as they are, as one line. */
const frontMatterLineKeys = new Set(['title', 'subtitle', 'date', 'reference-section-title']);
/** These are arguments of the tool, not part of the document. */
const refusedFrontMatterKeys = new Set([
  'bibliography',
  'csl',
  'references',
  'citation-style',
  'citation-abbreviations',
]);

/** Fields for the layout. They are removed from the metadata: writers would put them into code unescaped. */
const layoutParsers: Readonly<Record<string, (text: string, layout: MutableLayout) => void>> = {
  lang: (text, layout) => (layout.language = parseLanguage(text)),
  papersize: (text, layout) => (layout.paper = parsePaper(text)),
  margin: (text, layout) => (layout.marginMm = parseMargin(text)),
  fontsize: (text, layout) => (layout.fontSizePt = parseFontSize(text)),
  toc: (text, layout) => (layout.toc = parseFlag('toc', text)),
  'number-sections': (text, layout) => (layout.numberSections = parseFlag('number-sections', text)),
  numbersections: (text, layout) => (layout.numberSections = parseFlag('numbersections', text)),
};

/** Keeps only known fields, in their right form. Their inlines are sanitized with the rest of the document. */
export function readFrontMatter(given: PandocMeta): FrontMatter {
  const [layout, meta, ignored]: [MutableLayout, PandocMeta, string[]] = [{}, {}, []];
  for (const [key, value] of Object.entries(given)) {
    if (refusedFrontMatterKeys.has(key)) throw refusedFrontMatterError(key);
    if (key === 'geometry' && isGeometryMargin(value)) layout.marginMm = parseMargin(toMetaText(value)!);
    else if (Object.hasOwn(layoutParsers, key))
      layoutParsers[key]!(checkMetaText(key, value, maxFrontMatterLine), layout);
    else if (!keepFrontMatterField(key, value, meta)) ignored.push(key);
  }
  const authors = given['author'] ?? given['authors'];
  if (authors !== undefined) Object.assign(meta, { author: toMetaAuthors(authors) });
  return { meta, layout, ignored };
}

/** Of LaTeX's geometry, only `margin=1in` is supported. */
const isGeometryMargin = (value: PandocMetaValue): boolean => /^margin=[^,]*$/.test(toMetaText(value) ?? '');

/** Citing adds metadata of its own, which is silently dropped here. */
export function readCitedMetadata({ lang, ...given }: PandocMeta): PandocMeta {
  const own = Object.entries(given).filter(([key]) => !refusedFrontMatterKeys.has(key));
  const { meta, layout } = readFrontMatter({ ...Object.fromEntries(own), ...(lang && { lang }) });
  return layout.language === undefined ? meta : { ...meta, lang: toMetaLine('lang', lang!) };
}

/** Title, date and authors, as text. */
export function readLayoutNames(meta: PandocMeta): Partial<DocumentLayout> {
  const { title, date, author } = meta;
  const authors = author?.t === 'MetaList' ? author.c.map((each) => toMetaText(each) ?? '') : [];
  return {
    ...(title === undefined ? {} : { title: toMetaText(title) }),
    ...(date === undefined ? {} : { date: toMetaText(date) }),
    ...(authors.length === 0 ? {} : { authors }),
  };
}

function keepFrontMatterField(key: string, value: PandocMetaValue, meta: PandocMeta): boolean {
  if (key === 'author' || key === 'authors') return true;
  if (key === 'link-citations')
    meta[key] = { t: 'MetaBool', c: parseFlag(key, checkMetaText(key, value, maxFrontMatterLine)) };
  else if (frontMatterLineKeys.has(key)) meta[key] = toMetaLine(key, value);
  else if (key === 'abstract') meta[key] = toMetaAbstract(value);
  else if (key === 'keywords') meta[key] = toMetaList(key, value, maxFrontMatterKeywords);
  else if (key === 'nocite') meta[key] = value;
  else return false;
  return true;
}

function toMetaLine(key: string, value: PandocMetaValue): PandocMetaValue {
  const text = checkMetaText(key, value, maxFrontMatterLine);
  return value.t === 'MetaInlines' ? value : { t: 'MetaInlines', c: toWordInlines(text) };
}

function toMetaAbstract(value: PandocMetaValue): PandocMetaValue {
  if (value.t === 'MetaBlocks') {
    const characters = value.c.reduce((sum, block) => sum + JSON.stringify(block).length, 0);
    // Each word is some 40 characters of JSON.
    if (characters > maxAbstractCharacters * 10)
      throw invalidFrontMatterError('abstract', '…', `at most ${maxAbstractCharacters} characters`);
    return value;
  }
  const text = checkMetaText('abstract', value, maxAbstractCharacters);
  return value.t === 'MetaInlines' ? value : { t: 'MetaInlines', c: toWordInlines(text) };
}

function toMetaList(key: string, value: PandocMetaValue, most: number): PandocMetaValue {
  const list = value.t === 'MetaList' ? value.c : [value];
  if (list.length > most)
    throw invalidFrontMatterError(key, `a list of ${list.length}`, `a list of at most ${most}`);
  return { t: 'MetaList', c: list.map((each) => toMetaLine(key, each)) };
}

/** Names, or maps that have a name. */
function toMetaAuthors(value: PandocMetaValue): PandocMetaValue {
  const list = value.t === 'MetaList' ? value.c : [value];
  const names = list.map((each) => {
    if (each.t !== 'MetaMap') return each;
    const name = Object.hasOwn(each.c, 'name') ? each.c['name'] : undefined;
    if (name === undefined)
      throw invalidFrontMatterError('author', 'a map without a name', 'a name, or a map with “name”');
    return name;
  });
  return toMetaList('author', { t: 'MetaList', c: names }, maxFrontMatterAuthors);
}

export function describeIgnoredKeys(keys: readonly string[]): string {
  const named = keys.slice(0, maxNamedFrontMatterKeys).map((key) => JSON.stringify(key.slice(0, 40)));
  const more =
    keys.length > maxNamedFrontMatterKeys ? ` and ${keys.length - maxNamedFrontMatterKeys} more` : '';
  return `These fields of the front matter are not supported and were left out: ${named.join(', ')}${more}.`;
}

function refusedFrontMatterError(key: string): WorkcrateError {
  const how =
    key === 'csl' || key === 'citation-style'
      ? 'Give the style as cslContent or by its name instead.'
      : 'Give the references as bibliographyContent instead.';
  return new WorkcrateError('document_invalid', `The front matter must not contain “${key}”. ${how}`, {
    details: { key },
  });
}

const papersByName: Readonly<Record<string, PaperSize>> = {
  a4: 'a4',
  a4paper: 'a4',
  letter: 'letter',
  letterpaper: 'letter',
  'us-letter': 'letter',
};
const millimetresPerUnit: Readonly<Record<string, number>> = { mm: 1, cm: 10, in: 25.4, pt: 25.4 / 72 };
const [leastMargin, mostMargin] = [5, 80];
const [leastFontSize, mostFontSize] = [8, 24];

function parsePaper(text: string): PaperSize {
  const name = text.trim().toLowerCase();
  if (Object.hasOwn(papersByName, name)) return papersByName[name]!;
  throw invalidFrontMatterError('papersize', text, 'a4 or letter');
}

/** In millimetres, from a text such as `2.5cm`, `25mm` or `1in`. */
export function parseMargin(text: string): number {
  const found = /^(?:margin=)?(\d{1,3}(?:\.\d{1,3})?) ?(mm|cm|in|pt)$/.exec(text.trim().toLowerCase());
  const margin = found === null ? Number.NaN : Number(found[1]) * millimetresPerUnit[found[2]!]!;
  if (margin >= leastMargin && margin <= mostMargin) return Math.round(margin * 100) / 100;
  throw invalidFrontMatterError(
    'margin',
    text,
    `a length from ${leastMargin}mm to ${mostMargin}mm, such as 25mm, 2.5cm or 1in`,
  );
}

function parseFontSize(text: string): number {
  const size = Number(/^(\d{1,2}(?:\.\d{1,2})?) ?(?:pt)?$/.exec(text.trim().toLowerCase())?.[1]);
  if (size >= leastFontSize && size <= mostFontSize) return size;
  throw invalidFrontMatterError(
    'fontsize',
    text,
    `a size from ${leastFontSize}pt to ${mostFontSize}pt, such as 11pt`,
  );
}

function parseLanguage(text: string): string {
  const given = text.trim().replaceAll('_', '-');
  if (/^[a-z]{2,3}(-[a-z0-9]{2,8}){0,4}$/i.test(given)) return given;
  throw invalidFrontMatterError('lang', text, 'a language such as en or de-CH');
}

function parseFlag(key: string, text: string): boolean {
  const given = text.trim().toLowerCase();
  if (given === 'true' || given === 'yes') return true;
  if (given === 'false' || given === 'no') return false;
  throw invalidFrontMatterError(key, text, 'true or false');
}

/** The text of a value that must be one line of text. */
function checkMetaText(key: string, value: PandocMetaValue, most: number): string {
  const text = toMetaText(value);
  if (text === null)
    throw invalidFrontMatterError(
      key,
      value.t === 'MetaList' ? 'a list' : 'a nested value',
      'a line of text',
    );
  if (text.length > most) throw invalidFrontMatterError(key, text, `at most ${most} characters`);
  return text;
}

function invalidFrontMatterError(key: string, given: string, wanted: string): WorkcrateError {
  const shown = JSON.stringify(given.length > 60 ? `${given.slice(0, 60)}…` : given);
  return new WorkcrateError('document_invalid', `“${key}” is ${shown}, but must be ${wanted}.`, {
    details: { key },
  });
}

/**
 * Puts title, date, language and authors of the layout into the metadata. If the front matter has the same text, its
 * version stays, with emphasis and maths; otherwise it is plain words, which every writer escapes.
 */
export function applyLayoutMetadata(ast: PandocAst, layout: DocumentLayout): PandocAst {
  const meta: PandocMeta = { ...ast.meta };
  setMetaLine(meta, 'title', layout.title);
  setMetaLine(meta, 'date', layout.date);
  setMetaLine(meta, 'lang', layout.language);
  const known = meta['author'];
  const names = known?.t === 'MetaList' ? known.c : [];
  meta['author'] = { t: 'MetaList', c: layout.authors.map((name, at) => keepMetaOrText(names[at], name)) };
  if (layout.authors.length === 0) delete meta['author'];
  return { ...ast, meta };
}

function setMetaLine(meta: PandocMeta, key: string, text: string | null): void {
  if (text === null || text === '') delete meta[key];
  else meta[key] = keepMetaOrText(meta[key], text);
}

function keepMetaOrText(known: PandocMetaValue | undefined, text: string): PandocMetaValue {
  if (known?.t === 'MetaInlines' && toInlineText(known.c) === text) return known;
  return { t: 'MetaInlines', c: toWordInlines(text) };
}

const frontMatterStart = /^---\s*$/;
const frontMatterEnd = /^(?:---|\.\.\.)\s*$/;
const yamlAliasMark = /(?:^|[\s[{,])([&*])([^\s,[\]{}]+)/g;

/** Refuses YAML aliases: a few of them can grow without bound. */
export function checkNoYamlAliases(lines: readonly string[]): void {
  let at = 0;
  while ((at = findNextLine(lines, frontMatterStart, at)) >= 0) {
    const to = isBlankLine(lines[at + 1]) ? at : findNextLine(lines, frontMatterEnd, at + 1);
    if (to < 0) return;
    const name = to > at ? findYamlAlias(lines.slice(at + 1, to)) : null;
    if (name !== null)
      throw new WorkcrateError(
        'document_invalid',
        `The front matter in line ${at + 1} uses an alias (*${name}), which is not allowed: write its value out.`,
        { details: { line: at + 1 } },
      );
    at = to + 1;
  }
}

function findNextLine(lines: readonly string[], form: RegExp, from: number): number {
  for (let at = from; at < lines.length; at++) if (form.test(lines[at]!)) return at;
  return -1;
}

const isBlankLine = (line: string | undefined): boolean => line === undefined || line.trim() === '';

/** A name that is both defined (`&name`) and used (`*name`), unlike in `*emphasis*` and `R &D`. */
function findYamlAlias(lines: readonly string[]): string | null {
  const [defined, used] = [new Set<string>(), new Set<string>()];
  for (const line of lines)
    for (const [, sign, name] of line.matchAll(yamlAliasMark)) (sign === '&' ? defined : used).add(name!);
  for (const name of used) if (defined.has(name)) return name.slice(0, 40);
  return null;
}

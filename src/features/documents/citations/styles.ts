/**
 * Finds a citation style by name and checks it: CSL that needs no other style and cannot loop forever. It fetches
 * nothing. What a style looks like on paper is up to citeproc.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isWorkcrateError, WorkcrateError } from '../../../platform/errors.ts';
import { parseAttributes, scanXml, XmlError, type XmlTag } from '../../../platform/net/xml.ts';
import { openBelow, parseName } from '../../../platform/paths/paths.ts';
import { findReferenceLoop } from './bibtex.ts';
import { countLineNumber } from './csl.ts';

/** They are not code, so a build does not copy them. */
const bundledStylesFolder = join(import.meta.dirname, '../styles');

/** Built into Pandoc. */
const pandocDefaultStyle = 'chicago-author-date';
export const bundledStyles = ['apa', 'harvard', 'ieee', 'mla', 'nature', 'vancouver'] as const;

export interface WantedStyle {
  readonly name: string | null;
  /** CSL; it overrides the name. */
  readonly content: string | null;
  /** The operator's styles, which override the bundled ones. */
  readonly folder: string | null;
}

/** The text of a style in CSL; null: Pandoc's default, Chicago author-date. */
export async function readCitationStyle({ name, content, folder }: WantedStyle): Promise<string | null> {
  if (content !== null) return toValidStyle(content);
  if (name === null) return null;
  const plain = name.toLowerCase().replace(/\.csl$/, '');
  if (!/^[a-z0-9][a-z0-9._-]{0,99}$/.test(plain)) throw unknownStyleError(name, folder);
  const theirs = folder === null ? null : readStyleFile(folder, plain);
  if (theirs !== null) return toValidStyle(theirs);
  if (plain === pandocDefaultStyle) return null;
  if (!(bundledStyles as readonly string[]).includes(plain)) throw unknownStyleError(name, folder);
  return readFileSync(join(bundledStylesFolder, `${plain}.csl`), 'utf8');
}

function toValidStyle(style: string): string {
  checkStyle(style);
  return style;
}

function readStyleFile(folder: string, name: string): string | null {
  try {
    using file = openBelow(folder, { links: 'within' }).open(parseName(`${name}.csl`));
    if (file.stats.size > maxStyleLength) throw invalidStyleError('it is longer than 1 MB.', null);
    return readFileSync(file.fd, 'utf8');
  } catch (error) {
    if (isWorkcrateError(error, 'path_not_found')) return null;
    throw error;
  }
}

const maxNamedStyles = 30;

function unknownStyleError(name: string, folder: string | null): WorkcrateError {
  const theirs = folder === null ? [] : listStyleNames(folder);
  const known = [...new Set([pandocDefaultStyle, ...bundledStyles, ...theirs])];
  const more = known.length > maxNamedStyles ? ' and others' : '';
  return new WorkcrateError(
    'document_invalid',
    `There is no citation style "${name.slice(0, 100)}". Available styles: ${known.slice(0, maxNamedStyles).join(', ')}${more}. Send any other as CSL, in cslContent.`,
  );
}

function listStyleNames(folder: string): string[] {
  try {
    const { entries } = openBelow(folder).list();
    return entries.flatMap(({ name }) => /^(.+)\.csl$/.exec(name)?.[1] ?? []).sort();
  } catch (error) {
    if (isWorkcrateError(error, 'path_not_found')) return [];
    throw error;
  }
}

const maxStyleLength = 1024 * 1024;
const cslNamespace = 'http://purl.org/net/xbiblio/csl';

/** Refuses a style that citeproc must not get: only CSL that needs no other style is accepted. */
export function checkStyle(text: string): void {
  if (text.length > maxStyleLength) throw invalidStyleError('it is longer than 1 MB.', null);
  const elements = parseCslElements(text.replace(/^\u{feff}/u, ' '), (what, at) => {
    throw invalidStyleError(what, countLineNumber(text, at));
  });
  const [root] = elements;
  if (root?.name !== 'style' || root.attributes.get('xmlns') !== cslNamespace)
    throw invalidStyleError(
      `it must begin with <style xmlns="${cslNamespace}">, as every .csl file does.`,
      root ? countLineNumber(text, root.at) : 1,
    );
  checkIndependentStyle(elements);
  if (!elements.some(({ name, depth }) => name === 'citation' && depth === 1))
    throw invalidStyleError('it has no <citation>, which says what citations look like.', null);
  checkNoMacroLoops(elements, text);
}

function invalidStyleError(what: string, line: number | null): WorkcrateError {
  const where = line === null ? 'The citation style (CSL)' : `The citation style (CSL), line ${line}`;
  return new WorkcrateError(
    'document_invalid',
    `${where}: ${what}`,
    line === null ? {} : { details: { line } },
  );
}

/** A dependent style refers to another by URL, which would have to be fetched. */
function checkIndependentStyle(elements: readonly CslElement[]): void {
  const parent = elements.find(
    ({ name, attributes }) => name === 'link' && attributes.get('rel') === 'independent-parent',
  );
  if (!parent) return;
  const address = (parent.attributes.get('href') ?? 'another').slice(0, 300);
  throw invalidStyleError(`this style only refers to ${address}: use that one, the independent style.`, null);
}

/** A macro that calls itself would never end. */
function checkNoMacroLoops(elements: readonly CslElement[], text: string): void {
  const calls = new Map<string, string[]>();
  const positions = new Map<string, number>();
  let within: string[] = [];
  for (const { name, attributes, depth, at } of elements) {
    if (depth === 1) within = [];
    const own = attributes.get('name');
    if (depth === 1 && name === 'macro' && own !== undefined) {
      calls.set(own, within);
      positions.set(own, at);
    }
    const called = attributes.get('macro');
    if (called !== undefined) within.push(called);
  }
  const loop = findReferenceLoop(calls.keys(), (macro) => calls.get(macro) ?? []);
  if (loop !== null)
    throw invalidStyleError(
      `the macro "${loop.slice(0, 100)}" calls itself.`,
      countLineNumber(text, positions.get(loop) ?? 0),
    );
}

export interface CslElement {
  readonly name: string;
  readonly attributes: ReadonlyMap<string, string>;
  /** 0 is the root. */
  readonly depth: number;
  readonly at: number;
}

type RefuseStyle = (what: string, at: number) => never;

const cslXmlLimits = { mostElements: 50_000, mostDepth: 101 };
const cslNamePattern = /^[A-Za-z_][\w.:-]*$/;

/**
 * The elements of an XML document in order. It supports only what styles need: a document type, which could define
 * entities, is refused. `refuse` gets what is wrong and where, and throws.
 */
function parseCslElements(text: string, refuse: RefuseStyle): CslElement[] {
  try {
    return readCslElements(text, refuse);
  } catch (error) {
    if (error instanceof XmlError) return refuse(describeCslXmlError(error, text), error.at);
    throw error;
  }
}

function readCslElements(text: string, refuse: RefuseStyle): CslElement[] {
  const elements: CslElement[] = [];
  const open: string[] = [];
  for (const tag of scanXml(text, cslXmlLimits)) {
    if (tag.kind === 'instruction') continue;
    const { at } = tag;
    if (tag.kind === 'doctype') throw new XmlError('declaration', at);
    if (tag.kind === 'end') {
      const last = open.pop();
      if (last !== tag.name)
        refuse(`this is not XML: </${tag.name}> closes ${last ? `<${last}>` : 'nothing'}.`, at);
      continue;
    }
    if (open.length === 0 && elements.length > 0) refuse('this is not XML: there is more than one root.', at);
    elements.push({ name: tag.name, attributes: readCslAttributes(tag), depth: open.length, at });
    if (tag.kind === 'start') open.push(tag.name);
  }
  if (elements.length === 0) refuse('this is not XML: it has no elements.', 0);
  if (open.length > 0) refuse(`this is not XML: <${open.at(-1)}> is not closed.`, text.length);
  return elements;
}

function readCslAttributes(tag: XmlTag): Map<string, string> {
  if (!cslNamePattern.test(tag.name)) throw new XmlError('tag', tag.at);
  const attributes = parseAttributes(tag);
  const wrong = attributes.find(([name]) => !cslNamePattern.test(name));
  if (wrong !== undefined) throw new XmlError('attribute', tag.at, wrong[0][0]);
  return new Map(attributes);
}

function describeCslXmlError({ problem, at, message }: XmlError, text: string): string {
  if (problem === 'too_many' || problem === 'too_deep') return 'it has too many elements for a style.';
  if (problem === 'attribute') return `this is not XML: an attribute is wrong at "${message}".`;
  if (/^<!(?:DOCTYPE|ENTITY)/i.test(text.slice(at, at + 10)))
    return 'it has a document type or an entity, which a style must not have.';
  return 'this is not XML: a "<" begins a tag that is not closed.';
}

import { isWorkcrateError, WorkcrateError } from '../../../platform/errors.ts';
import type { Pandoc } from '../pandoc/pandoc.ts';

export const bibliographyFormats = ['bibtex', 'biblatex', 'ris', 'csljson', 'cslyaml'] as const;

export type BibliographyFormat = (typeof bibliographyFormats)[number];

/** One work as CSL JSON. Only its key is certain. */
export interface BibliographyItem extends Readonly<Record<string, unknown>> {
  readonly id: string;
}

const maxBibliographyReferences = 20_000;

/** Each entry takes Pandoc milliseconds. Of a longer bibliography, only the entries that are needed are read. */
export const maxEntriesReadWhole = 200;

export function invalidBibliographyError(
  message: string,
  line: number | null,
  cause?: unknown,
): WorkcrateError {
  const where = line === null ? 'The bibliography' : `The bibliography, line ${line}`;
  return new WorkcrateError('document_invalid', `${where}: ${message}`, {
    cause,
    ...(line !== null && { details: { line } }),
  });
}

export function checkFewReferences(count: number): void {
  if (count <= maxBibliographyReferences) return;
  throw invalidBibliographyError(
    `it has ${count} entries; at most ${maxBibliographyReferences} are allowed. Leave out those that are not cited.`,
    null,
  );
}

export function countLineNumber(text: string, position: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at !== -1 && at < position; at = text.indexOf('\n', at + 1)) line += 1;
  return line;
}

/** Reads CSL JSON: a list of works, an object with such a list, or one work. */
export function readCslJson(text: string): BibliographyItem[] {
  const list = findCslList(parseCslJsonText(text));
  checkFewReferences(list.length);
  return list.map((value, at) => toCslItem(value, at, () => findCslItemLine(text, at)));
}

/** Normalizes CSL JSON by Pandoc, which refuses names and dates of a wrong form. */
export async function convertCsl(
  pandoc: Pandoc,
  items: readonly BibliographyItem[],
  signal: AbortSignal,
): Promise<Uint8Array> {
  const input = JSON.stringify(items);
  try {
    return (await pandoc.convert({ options: { from: 'csljson', to: 'csljson' }, input }, signal)).output;
  } catch (error) {
    if (!isWorkcrateError(error, 'document_invalid')) throw error;
    const item = items[Number(/\$\[(\d+)\]/.exec(error.message)?.[1] ?? NaN)];
    const which = item === undefined ? 'an entry' : `the entry \`${item.id.slice(0, 100)}\``;
    throw invalidBibliographyError(
      `a name, a date or a field of ${which} does not have the form that CSL requires, such as "issued": {"date-parts": [[2020, 3]]}. Pandoc says: ${error.message.slice(0, 300)}`,
      null,
      error,
    );
  }
}

function parseCslJsonText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const { message } = error as SyntaxError;
    const [, position] = /at position (\d+)/.exec(message) ?? [];
    const at = position === undefined ? text.trimEnd().length : Number(position);
    const column = at - text.lastIndexOf('\n', at - 1);
    const what = message.replace(/(?:,? \.{0,3}".*"\.{0,3} is not valid JSON| in JSON at position.*)$/s, '');
    throw invalidBibliographyError(
      `this is not JSON at column ${column}. ${what}.`,
      countLineNumber(text, at),
      error,
    );
  }
}

function findCslList(value: unknown): unknown[] {
  if (Array.isArray(value)) return value;
  const { references, items, id } = isCslObject(value) ? value : {};
  if (Array.isArray(references)) return references;
  if (Array.isArray(items)) return items;
  if (id !== undefined) return [value];
  throw invalidBibliographyError('it must be a list of entries, each with an `id` and a `type`.', 1);
}

/** Far deeper than anything in CSL. */
const maxCslJsonDepth = 12;

function toCslItem(value: unknown, at: number, line: () => number | null): BibliographyItem {
  const which = `entry ${at + 1}`;
  if (!isCslObject(value))
    throw invalidBibliographyError(`${which} is not an object with an \`id\` and a \`type\`.`, line());
  const { id, type } = value;
  if ((typeof id !== 'string' && typeof id !== 'number') || String(id).trim() === '')
    throw invalidBibliographyError(
      `${which} has no \`id\`. It is the key by which the entry is cited.`,
      line(),
    );
  if (typeof type !== 'string')
    throw invalidBibliographyError(
      `${which} (\`${String(id).slice(0, 100)}\`) has no \`type\`, such as "article-journal" or "book".`,
      line(),
    );
  if (isDeeperThan(value, maxCslJsonDepth))
    throw invalidBibliographyError(`${which} is nested too deeply for CSL.`, line());
  const known = Object.entries(value).filter(([, field]) => field !== null);
  return { ...Object.fromEntries(known), id: String(id) };
}

function isDeeperThan(value: unknown, most: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return most === 0 || Object.values(value).some((inner) => isDeeperThan(inner, most - 1));
}

const isCslObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The line in which an entry begins; null if the text is not just a list. */
function findCslItemLine(text: string, wanted: number): number | null {
  const start = text.search(/\S/);
  if (text[start] !== '[') return null;
  let [depth, item] = [0, 0];
  for (const { 0: sign, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{},]|[^\s"[\]{},]+/g)) {
    if (index === start) continue;
    if (item === wanted && depth === 0 && sign !== ',') return countLineNumber(text, index);
    if (sign === '[' || sign === '{') depth += 1;
    else if (sign === ']' || sign === '}') depth -= 1;
    else if (sign === ',' && depth === 0) item += 1;
  }
  return null;
}

/** CommonMark, because Pandoc's own Markdown takes exponential time for nested brackets. */
const cslYamlReaderFormat =
  'commonmark+yaml_metadata_block+bracketed_spans+superscript+subscript+tex_math_dollars-raw_html';

/**
 * Converts CSL YAML, as in the front matter of Pandoc: `references:` with a list, or the list alone. Pandoc parses it, in
 * its own process: a parser in this one took two seconds for half a megabyte.
 */
export async function convertCslYaml(pandoc: Pandoc, text: string, signal: AbortSignal): Promise<Uint8Array> {
  checkFewYamlAliases(text);
  const { before, block } = toYamlFrontMatter(text);
  try {
    const input = escapeYamlIdentifiers(block);
    return (await pandoc.convert({ options: { from: cslYamlReaderFormat, to: 'csljson' }, input }, signal))
      .output;
  } catch (error) {
    if (!isWorkcrateError(error, 'document_invalid')) throw error;
    const { line } = error.details;
    const own =
      typeof line === 'number'
        ? Math.min(Math.max(1, line - before), countLineNumber(text, text.length))
        : null;
    throw invalidBibliographyError(
      `this is not YAML. Pandoc says: ${removeYamlPosition(error.message)}`,
      own,
      error,
    );
  }
}

/** Our error names the line of the text that was given. */
const removeYamlPosition = (message: string): string =>
  message.replace(/^.*exception at line \d+, column \d+[,:]?\s*/s, '').slice(0, 500);

/** To warn of entries that Pandoc silently drops. */
export function countYamlEntries(text: string): number {
  const indent = /^([ \t]*)- /m.exec(text)?.[1];
  return indent === undefined
    ? 0
    : [...text.matchAll(/^([ \t]*)- /gm)].filter(([, own]) => own === indent).length;
}

/** `before` is how many lines were added before the text. */
function toYamlFrontMatter(text: string): { before: number; block: string } {
  const isMarked = /^---[ \t]*\r?\n/.test(text);
  const inner = text.replace(/^---[ \t]*\r?\n/, '').replace(/\r?\n(?:---|\.\.\.)\s*$/, '');
  const isList = !/^references[ \t]*:/m.test(inner);
  const before = (isMarked ? 0 : 1) + (isList ? 1 : 0);
  return { before, block: `---\n${isList ? 'references:\n' : ''}${inner}\n---\n` };
}

/** Pandoc reads fields as Markdown, but URLs and numbers are not. In double quotes, YAML needs the backslash twice. */
function escapeYamlIdentifiers(block: string): string {
  return block.replaceAll(
    /^([ \t-]*(?:URL|DOI|PMID|PMCID|ISBN|ISSN)[ \t]*:[ \t]*)(\S.*)$/gm,
    (_, name, value) => {
      const escape = String(value).startsWith('"') ? '\\\\' : '\\';
      return `${String(name)}${String(value).replaceAll(/[*_`~^$[\]<>]/g, (sign) => `${escape}${sign}`)}`;
    },
  );
}

const maxYamlAliases = 20;

/** Aliases of aliases make a huge list of a short text. */
function checkFewYamlAliases(text: string): void {
  const anchors = new Set(
    [...text.matchAll(/(?<=^|[\s,:[{-])&([^\s,[\]{}]{1,100})/g)].map(([, name]) => name),
  );
  if (anchors.size === 0) return;
  const aliases = text.matchAll(/(?<=^|[\s,:[{-])\*([^\s,[\]{}]{1,100})/g);
  if (
    aliases
      .filter(([, name]) => anchors.has(name))
      .take(maxYamlAliases + 1)
      .toArray().length > maxYamlAliases
  )
    throw invalidBibliographyError(
      `it has more than ${maxYamlAliases} aliases. Write the entries out.`,
      null,
    );
}

import { isWorkcrateError } from '../../../platform/errors.ts';
import type { Pandoc } from '../pandoc/pandoc.ts';
import { checkFewReferences, maxEntriesReadWhole, invalidBibliographyError } from './csl.ts';

export interface BibtexOptions {
  readonly format: 'bibtex' | 'biblatex';
  /** Of the document, such as `de`: titles keep their capitals in languages other than English. */
  readonly language: string;
  /** Keys that are wanted; null: all. */
  readonly only: ReadonlySet<string> | null;
}

/** Converts BibTeX or BibLaTeX to CSL JSON, by Pandoc. It reads no files: `\input` in a field is dropped. */
export async function convertBibtex(
  pandoc: Pandoc,
  text: string,
  { format, language, only }: BibtexOptions,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const entries = parseBibEntries(text);
  checkFewReferences(entries.length);
  checkNoCrossrefLoops(text, entries);
  const wanted =
    only === null || entries.length <= maxEntriesReadWhole ? null : addBibParents(text, entries, only);
  const input = rewriteBibEntries(text, entries, (own, entry) =>
    wanted === null || wanted.has(entry) ? setBibEntryLanguage(own, entry, language) : blankBibText(own),
  );
  try {
    return (await pandoc.convert({ options: { from: format, to: 'csljson' }, input }, signal)).output;
  } catch (error) {
    if (isWorkcrateError(error, 'document_invalid'))
      throw toBibtexError(error, wanted === null ? entries : [...wanted]);
    throw error;
  }
}

/** Keeps line breaks, so that line numbers in errors are right. */
const blankBibText = (text: string): string => text.replaceAll(/[^\n]+/g, '');

/** For a missing brace, Pandoc names the end of the text. This names the entry instead. */
function toBibtexError(
  error: { message: string; details: Readonly<Record<string, unknown>> },
  entries: BibEntry[],
) {
  const open = entries.find(({ closed }) => !closed);
  if (open)
    return invalidBibliographyError(
      `the entry ${describeBibEntry(open)} that begins here is not closed: a brace or a quotation mark is missing in it.`,
      open.line,
      error,
    );
  const keyless = entries.find(({ key }) => key === null);
  if (keyless)
    return invalidBibliographyError(
      `this entry has no key: write @${keyless.type}{key, and then its fields.`,
      keyless.line,
      error,
    );
  const line = typeof error.details['line'] === 'number' ? error.details['line'] : null;
  const around = entries
    .toSorted((a, b) => a.line - b.line)
    .findLast((entry) => line !== null && entry.line <= line);
  const inEntry = around
    ? ` in the entry ${describeBibEntry(around)}, which begins at line ${around.line}`
    : '';
  return invalidBibliographyError(
    `it cannot be read${inEntry}. Is a comma or a brace missing there? Pandoc says: ${error.message.slice(0, 500)}`,
    line,
    error,
  );
}

const describeBibEntry = ({ key, type }: BibEntry): string => (key === null ? `@${type}` : `\`${key}\``);

/** An entry in the text of a .bib file. */
export interface BibEntry {
  readonly type: string;
  /** Null if the fields begin at once. */
  readonly key: string | null;
  readonly line: number;
  readonly closed: boolean;
  readonly start: number;
  /** Position after the comma that follows the key; the end if there is none. */
  readonly fieldsAt: number;
  readonly end: number;
}

const bibtexCommands = new Set(['comment', 'preamble', 'string']);
/** From an `@` up to the key. Spaces are limited, so that no text takes long. */
const bibEntryStart =
  /@[ \t]{0,20}([a-z][a-z0-9_-]{0,60})\s{0,100}\{\s{0,100}([^\s,{}()="#%]{0,1000})\s{0,100}(,?)/giy;
const bibEntryOnNextLine = /\n[ \t]{0,20}@[a-z]{2,60}[ \t]{0,20}\{/iy;

/** Finds the entries of BibTeX or BibLaTeX; text between them is ignored. */
export function parseBibEntries(text: string): BibEntry[] {
  const entries: BibEntry[] = [];
  let line = 1;
  let counted = 0;
  for (let at = text.indexOf('@'); at !== -1;) {
    bibEntryStart.lastIndex = at;
    const found = bibEntryStart.exec(text);
    if (found === null) {
      at = text.indexOf('@', at + 1);
      continue;
    }
    for (; counted < at; counted += 1) if (text[counted] === '\n') line += 1;
    const [all, type, key, comma] = found as unknown as [string, string, string, string];
    const { end, closed } = findBibEntryEnd(text, at + all.indexOf('{') + 1);
    const hasKey = key !== '' && (comma === ',' || end === at + all.length + 1);
    if (!bibtexCommands.has(type.toLowerCase()))
      entries.push({
        type,
        key: hasKey ? key : null,
        line,
        closed,
        start: at,
        fieldsAt: at + all.length,
        end,
      });
    at = text.indexOf('@', end);
  }
  return entries;
}

/** The position after the closing brace; if there is none, before the next line that begins an entry. */
function findBibEntryEnd(text: string, from: number): { end: number; closed: boolean } {
  let depth = 1;
  for (let at = from; at < text.length; at += 1) {
    const char = text[at];
    if (char === '\\') at += 1;
    else if (char === '{') depth += 1;
    else if (char === '}') depth -= 1;
    else if (char === '\n' && isBibEntryStart(text, at)) return { end: at + 1, closed: false };
    if (depth === 0) return { end: at + 1, closed: true };
  }
  return { end: text.length, closed: false };
}

function isBibEntryStart(text: string, newline: number): boolean {
  bibEntryOnNextLine.lastIndex = newline;
  return bibEntryOnNextLine.test(text);
}

/** Replaces each entry by the result of `make`. */
export function rewriteBibEntries(
  text: string,
  entries: readonly BibEntry[],
  make: (own: string, entry: BibEntry) => string,
): string {
  const parts: string[] = [];
  let from = 0;
  for (const entry of entries) {
    parts.push(text.slice(from, entry.start), make(text.slice(entry.start, entry.end), entry));
    from = entry.end;
  }
  return [...parts, text.slice(from)].join('');
}

/** Babel names of languages, which Pandoc needs to tell them from English. */
const babelNames: Readonly<Record<string, string>> = {
  de: 'ngerman',
  fr: 'french',
  es: 'spanish',
  it: 'italian',
  pt: 'portuguese',
  nl: 'dutch',
  da: 'danish',
  sv: 'swedish',
  nb: 'norsk',
  nn: 'nynorsk',
  fi: 'finnish',
  pl: 'polish',
  cs: 'czech',
  sk: 'slovak',
  sl: 'slovene',
  hr: 'croatian',
  hu: 'magyar',
  ro: 'romanian',
  tr: 'turkish',
  el: 'greek',
  ru: 'russian',
  uk: 'ukrainian',
  bg: 'bulgarian',
  ca: 'catalan',
  et: 'estonian',
  lv: 'latvian',
  lt: 'lithuanian',
};

/**
 * Pandoc takes titles for English and lowers their capitals, unless the entry has a language. This adds the language to
 * entries that have none.
 */
function setBibEntryLanguage(
  own: string,
  { key, closed, start, fieldsAt }: BibEntry,
  language: string,
): string {
  const name = babelNames[language.toLowerCase().split('-')[0] ?? ''];
  const at = fieldsAt - start;
  if (name === undefined || key === null || !closed || own[at - 1] !== ',') return own;
  if (/[,\s](?:langid|hyphenation|language)\s{0,100}=/i.test(own.slice(at - 1))) return own;
  return `${own.slice(0, at)} langid = {${name}},${own.slice(at)}`;
}

/** With entries that refer to each other in a circle, Pandoc uses up all memory. */
function checkNoCrossrefLoops(text: string, entries: readonly BibEntry[]): void {
  const byKey = new Map(entries.map((entry) => [entry.key?.toLowerCase() ?? '', entry]));
  const loop = findReferenceLoop(byKey.keys(), (key) =>
    listBibParents(text, byKey.get(key)!).filter((one) => byKey.has(one)),
  );
  if (loop === null) return;
  const { key, line } = byKey.get(loop)!;
  throw invalidBibliographyError(`the entry \`${key}\` refers to itself by crossref or xdata.`, line);
}

const bibParentFields =
  /[,\s](?:crossref|xdata)\s{0,100}=\s{0,100}(?:\{([^{}]{0,4000})\}|"([^"]{0,4000})")/gi;

function listBibParents(text: string, { fieldsAt, end }: BibEntry): string[] {
  return [...text.slice(fieldsAt - 1, end).matchAll(bibParentFields)].flatMap(([, braced, quoted]) =>
    (braced ?? quoted ?? '').split(',').map((key) => key.trim().toLowerCase()),
  );
}

/** The entries with the wanted keys, and those that they inherit fields from. */
function addBibParents(
  text: string,
  entries: readonly BibEntry[],
  wanted: ReadonlySet<string>,
): ReadonlySet<BibEntry> {
  const byKey = Map.groupBy(entries, ({ key }) => key?.toLowerCase() ?? '');
  const found = new Set<BibEntry>();
  const ahead = entries.filter(({ key }) => key !== null && wanted.has(key));
  for (let entry = ahead.pop(); entry !== undefined; entry = ahead.pop()) {
    if (found.has(entry)) continue;
    found.add(entry);
    for (const key of listBibParents(text, entry)) ahead.push(...(byKey.get(key) ?? []));
  }
  return found;
}

/** The first name that refers to itself, directly or through others; null if there is none. */
export function findReferenceLoop(
  all: Iterable<string>,
  next: (one: string) => readonly string[],
): string | null {
  const settled = new Set<string>();
  for (const first of all) {
    const trail = new Set<string>();
    const ahead = [{ one: first, leaving: false }];
    for (let step = ahead.pop(); step !== undefined; step = ahead.pop()) {
      const { one, leaving } = step;
      if (leaving) {
        trail.delete(one);
        settled.add(one);
      } else if (trail.has(one)) return one;
      else if (!settled.has(one)) {
        trail.add(one);
        ahead.push({ one, leaving: true });
        for (const other of next(one)) ahead.push({ one: other, leaving: false });
      }
    }
  }
  return null;
}

/**
 * Reads a bibliography in any of five formats into CSL JSON, with each key once. It does not cite (`cite.ts`) and does
 * not ask a library (`documents.ts`).
 */
import { WorkcrateError } from '../../../platform/errors.ts';
import type { Pandoc } from '../pandoc/pandoc.ts';
import { convertBibtex } from './bibtex.ts';
import {
  convertCsl,
  convertCslYaml,
  checkFewReferences,
  maxEntriesReadWhole,
  invalidBibliographyError,
  readCslJson,
  countYamlEntries,
  type BibliographyFormat,
  type BibliographyItem,
} from './csl.ts';
import { readRis } from './ris.ts';

export { bibliographyFormats, type BibliographyFormat, type BibliographyItem } from './csl.ts';

export interface Bibliography {
  readonly format: BibliographyFormat;
  /** Each key once. */
  readonly references: readonly BibliographyItem[];
  /** Keys of more than one entry: the last entry counts, as it does for citeproc. */
  readonly duplicates: readonly string[];
  readonly warnings: readonly string[];
}

/**
 * Reads a bibliography; a format of null is detected from the text. `language` is that of the document: Pandoc lowers
 * the capitals of titles in BibTeX unless they are known not to be English. `only` names the keys that are needed; other
 * entries may be left out, and are left out of a long bibliography.
 */
export async function readBibliography(
  pandoc: Pandoc,
  text: string,
  format: BibliographyFormat | null,
  signal: AbortSignal,
  language = 'en',
  only: ReadonlySet<string> | null = null,
): Promise<Bibliography> {
  const plain = text.replace(/^\u{feff}/u, '');
  const known = format ?? detectBibliographyFormat(plain);
  const output = await convertBibliography(pandoc, plain, { format: known, language, only }, signal);
  const items = parseCslOutput(output);
  if (items.length === 0 && only === null)
    throw invalidBibliographyError(`it has no entries that can be read as ${known}.`, null);
  checkFewReferences(items.length);
  const { references, duplicates, warnings } = dropDuplicateReferences(items);
  const lost = known === 'cslyaml' ? countYamlEntries(plain) - items.length : 0;
  const lostWarnings =
    lost > 0
      ? [`${lost} entries of the bibliography were left out: they have no id, or not the form of CSL.`]
      : [];
  return { format: known, references, duplicates, warnings: [...warnings, ...lostWarnings] };
}

interface BibliographyReadOptions {
  readonly format: BibliographyFormat;
  readonly language: string;
  readonly only: ReadonlySet<string> | null;
}

async function convertBibliography(
  pandoc: Pandoc,
  text: string,
  { format, language, only }: BibliographyReadOptions,
  signal: AbortSignal,
): Promise<Uint8Array> {
  if (format === 'bibtex' || format === 'biblatex')
    return convertBibtex(pandoc, text, { format, language, only }, signal);
  if (format === 'cslyaml') return convertCslYaml(pandoc, text, signal);
  const items = format === 'ris' ? readRis(text) : readCslJson(text);
  const wanted =
    only === null || items.length <= maxEntriesReadWhole ? items : items.filter(({ id }) => only.has(id));
  return convertCsl(pandoc, wanted, signal);
}

function parseCslOutput(output: Uint8Array): BibliographyItem[] {
  const items: unknown = JSON.parse(new TextDecoder().decode(output));
  if (Array.isArray(items)) return items as BibliographyItem[];
  throw new WorkcrateError('document_failed', 'Pandoc returned no list of references for the bibliography.');
}

function dropDuplicateReferences(items: readonly BibliographyItem[]): Omit<Bibliography, 'format'> {
  const byKey = new Map<string, BibliographyItem>();
  const duplicates = new Set<string>();
  for (const item of items) {
    if (byKey.has(item.id)) duplicates.add(item.id);
    byKey.set(item.id, item);
  }
  const keys = [...duplicates];
  const warnings =
    keys.length === 0 ? [] : [`Several entries have the key ${listFewKeys(keys)}: the last one is used.`];
  return { references: [...byKey.values()], duplicates: keys, warnings };
}

function listFewKeys(keys: readonly string[]): string {
  const few = keys.slice(0, 5).map((key) => `\`${key.slice(0, 100)}\``);
  return keys.length > few.length
    ? `${few.join(', ')} and ${keys.length - few.length} others`
    : few.join(', ');
}

/** Types and fields that only BibLaTeX has. */
const biblatexTypes =
  /@(?:online|thesis|report|dataset|software|collection|incollection\*|mvbook|mvcollection|bookinbook|suppbook|inreference|reference|periodical|patent|set|xdata|image|video|audio|standard)\s*[{(]/i;
const biblatexFields =
  /[,\s](?:journaltitle|journalsubtitle|date|origdate|eventdate|urldate|location|eventtitle|maintitle|booksubtitle|subtitle|eprinttype|eprintclass|langid|shortjournal|entrysubtype|xdata)\s*=/i;

function detectBibliographyFormat(text: string): BibliographyFormat {
  const start = text.trimStart();
  if (start === '') throw invalidBibliographyError('it is empty. Leave it out, or give entries.', null);
  if (/^(?:\[|\{)/.test(start)) return 'csljson';
  if (/^[ \t]*TY {1,2}-/m.test(takeBibliographyHead(start))) return 'ris';
  if (/@[a-z]+\s*[{(]/i.test(start)) return isBiblatex(start) ? 'biblatex' : 'bibtex';
  if (/^(?:---\s|references\s*:|-\s+\w+\s*:)/m.test(takeBibliographyHead(start))) return 'cslyaml';
  throw invalidBibliographyError(
    'it is neither BibTeX, BibLaTeX, RIS, CSL JSON nor CSL YAML. Entries of BibTeX begin as in `@article{key,`.',
    1,
  );
}

const isBiblatex = (text: string): boolean => biblatexTypes.test(text) || biblatexFields.test(text);

const takeBibliographyHead = (text: string): string => text.slice(0, 64 * 1024);

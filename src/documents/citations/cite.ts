/**
 * Writes citations and the list of references into a document's tree, by citeproc in Pandoc. It reads no bibliography
 * and no style: it gets them parsed and checked. The result has to be sanitized again, since references can contain
 * anything.
 */
import { isWorkcrateError, WorkcrateError } from '../../errors.ts';
import type { Pandoc, PandocWarning } from '../pandoc/pandoc.ts';
import {
  collectClusters,
  isSameEverywhere,
  placeClusters,
  type CitationAst,
  type CitationBlock,
} from './clusters.ts';
import type { BibliographyItem } from './csl.ts';

export interface CiteRequest {
  /** Pandoc's JSON, sanitized. */
  readonly ast: Uint8Array;
  readonly references: readonly BibliographyItem[];
  /** CSL, checked; null: Pandoc's default, Chicago author-date. */
  readonly style: string | null;
  /** BCP 47; decides words such as "and" and "accessed". */
  readonly language: string;
  readonly signal: AbortSignal;
}

export interface CitedDocument {
  /** With citations and references written out, still within Cite nodes. */
  readonly ast: Uint8Array;
  /** Keys without an entry. The document shows them as **key?**. */
  readonly missing: string[];
  readonly warnings: string[];
}

/** Removed from a document, because citeproc would read files that these name. */
const citationMetadataKeys = [
  'bibliography',
  'references',
  'csl',
  'citation-style',
  'citation-abbreviations',
  'link-citations',
  'link-bibliography',
];
const maxCitationWarnings = 50;

/** Writes citations out. The list of references is at the end, or where `::: {#refs}` is. */
export async function citeDocument(pandoc: Pandoc, request: CiteRequest): Promise<CitedDocument> {
  const { language } = request;
  const text = new TextDecoder().decode(request.ast);
  const keys = findCitationIds(text);
  if (keys.size === 0) return { ast: request.ast, missing: [], warnings: [] };
  // Citeproc is slow with thousands of references, of which ten are cited.
  const references = request.references.filter(({ id }) => keys.has(id) || keys.has('*'));
  const known = new Set(references.map(({ id }) => id));
  const missing = [...keys].filter((key) => key !== '*' && !known.has(key));
  const before = JSON.parse(text) as CitationAst;
  for (const name of citationMetadataKeys) delete before.meta[name];
  if (references.length > 0 && !hasReferencesSection(before, text)) addReferencesHeading(before, language);
  const { written, log } = await writeCitations(pandoc, before, { ...request, references });
  const warnings = listCitationWarnings(log);
  return { ast: tidyCitedAst(before, written, missing), missing, warnings };
}

interface WrittenCitations {
  readonly written: CitationAst;
  readonly log: readonly PandocWarning[];
}

/** Only the citations go through citeproc, if the style allows it; otherwise the whole document. */
async function writeCitations(
  pandoc: Pandoc,
  document: CitationAst,
  request: CiteRequest,
): Promise<WrittenCitations> {
  if (!isSameEverywhere(request.style)) return runCiteproc(pandoc, document, request);
  const short = collectClusters(document);
  const { written, log } = await runCiteproc(pandoc, short, request);
  const placed = placeClusters(document, short, written);
  return placed === null ? runCiteproc(pandoc, document, request) : { written: placed, log };
}

async function runCiteproc(
  pandoc: Pandoc,
  document: CitationAst,
  { references, style, language, signal }: CiteRequest,
): Promise<WrittenCitations> {
  const job = {
    options: {
      from: 'json',
      to: 'json',
      citeproc: true,
      bibliography: ['references.json'],
      ...(style !== null && { csl: 'style.csl' }),
      metadata: { lang: language, 'link-citations': true },
    },
    input: JSON.stringify(document),
    files: { 'references.json': JSON.stringify(references), ...(style !== null && { 'style.csl': style }) },
  };
  const { output, warnings } = await explainStyleErrors(() => pandoc.convert(job, signal));
  return { written: JSON.parse(new TextDecoder().decode(output)) as CitationAst, log: warnings };
}

function findCitationIds(ast: string): Set<string> {
  const found = ast.matchAll(/"citationId"\s*:\s*("(?:[^"\\]|\\.)*")/g);
  return new Set([...found].map(([, quoted]) => JSON.parse(quoted!) as string));
}

/** Whether the document says where its references go, or has a heading for them. */
const hasReferencesSection = ({ meta }: CitationAst, text: string): boolean =>
  text.includes('["refs",') || 'reference-section-title' in meta || 'suppress-bibliography' in meta;

function addReferencesHeading({ blocks }: CitationAst, language: string): void {
  const heading = buildReferencesHeading(blocks, language);
  if (heading !== null) blocks.push(heading);
}

/** The document and its references were read before, so an error here is about the style. */
async function explainStyleErrors<T>(convert: () => Promise<T>): Promise<T> {
  try {
    return await convert();
  } catch (error) {
    if (!isWorkcrateError(error, 'document_invalid')) throw error;
    throw new WorkcrateError(
      'document_invalid',
      `The citations cannot be written with this style (CSL): ${error.message.slice(0, 500)}`,
      { cause: error },
    );
  }
}

/** Missing keys are reported elsewhere. */
const citationNotFoundPattern = /citation .* not found$/s;

function listCitationWarnings(warnings: readonly PandocWarning[]): string[] {
  return warnings
    .filter(({ type, message }) => type === 'CiteprocWarning' && !citationNotFoundPattern.test(message))
    .slice(0, maxCitationWarnings)
    .map(({ message }) => `Citations: ${message.replace(/^Citeproc: /, '').slice(0, 500)}`);
}

/** Removes the metadata for citeproc, and links that lead nowhere: Typst would fail on them. */
function tidyCitedAst({ meta }: CitationAst, cited: CitationAst, missing: readonly string[]): Uint8Array {
  for (const name of [...citationMetadataKeys, 'lang', 'nocite']) delete cited.meta[name];
  if (Object.hasOwn(meta, 'lang')) cited.meta['lang'] = meta['lang'];
  if (missing.length > 0) removeCitationLinks(cited, new Set(missing.map((key) => `#ref-${key}`)));
  return new TextEncoder().encode(JSON.stringify(cited));
}

/** Headings of the list of references; English for other languages. */
const referencesHeadings: Readonly<Record<string, string>> = {
  en: 'References',
  de: 'Literatur',
  fr: 'Références',
  es: 'Referencias',
  it: 'Riferimenti bibliografici',
  pt: 'Referências',
  ca: 'Referències',
  ro: 'Bibliografie',
  nl: 'Referenties',
  da: 'Litteratur',
  sv: 'Referenser',
  nb: 'Referanser',
  nn: 'Referansar',
  fi: 'Lähteet',
  pl: 'Bibliografia',
  cs: 'Literatura',
  sk: 'Literatúra',
  sl: 'Literatura',
  hr: 'Literatura',
  hu: 'Irodalom',
  tr: 'Kaynakça',
  el: 'Βιβλιογραφία',
  ru: 'Литература',
  uk: 'Література',
  bg: 'Литература',
  ja: '参考文献',
  zh: '参考文献',
  ko: '참고 문헌',
};

/**
 * The heading for the list of references; null if the document ends with a heading, which is then that of the list, or
 * has no headings at all.
 */
function buildReferencesHeading(blocks: readonly CitationBlock[], language: string): CitationBlock | null {
  const levels = blocks.flatMap(({ t, c }) => (t === 'Header' ? (c as [number])[0] : []));
  if (levels.length === 0 || blocks.at(-1)!.t === 'Header') return null;
  const level = levels.reduce((least, one) => Math.min(least, one));
  const name = referencesHeadings[language.toLowerCase().split('-')[0] ?? ''] ?? referencesHeadings['en']!;
  const words = name
    .split(' ')
    .flatMap((word, at) => [...(at > 0 ? [{ t: 'Space' }] : []), { t: 'Str', c: word }]);
  return { t: 'Header', c: [level, ['bibliography', ['unnumbered'], []], words] };
}

interface CitationLink {
  readonly t: 'Link';
  readonly c: readonly [unknown, readonly unknown[], readonly [string, string]];
}

/** Replaces links to these targets by their text, anywhere in the tree. */
function removeCitationLinks(tree: unknown, targets: ReadonlySet<string>): void {
  const ahead = [tree];
  while (ahead.length > 0) {
    const node = ahead.pop();
    if (typeof node !== 'object' || node === null) continue;
    if (Array.isArray(node)) removeLinksFromList(node, targets);
    for (const child of Object.values(node)) ahead.push(child);
  }
}

function removeLinksFromList(list: unknown[], targets: ReadonlySet<string>): void {
  if (!list.some((child) => isCitationLinkTo(child, targets))) return;
  const before = list.splice(0);
  for (const child of before)
    for (const one of isCitationLinkTo(child, targets) ? child.c[1] : [child]) list.push(one);
}

function isCitationLinkTo(node: unknown, targets: ReadonlySet<string>): node is CitationLink {
  const { t, c } = (node ?? {}) as Partial<CitationLink>;
  return t === 'Link' && c !== undefined && targets.has(c[2][0]);
}

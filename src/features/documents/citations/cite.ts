/**
 * Writes citations and the list of references into a document's tree, by citeproc in Pandoc. It reads no bibliography
 * and no style: it gets them parsed and checked. The result has to be sanitized again, since references can contain
 * anything.
 */
import { isWorkcrateError, WorkcrateError } from '../../../platform/errors.ts';
import type { Pandoc, PandocWarning } from '../pandoc/pandoc.ts';
import { parseAst, type PandocAst, type PandocBlock } from '../sanitize/ast.ts';
import { listCitedKeys, toWordInlines } from '../sanitize/markdown.ts';
import { collectClusters, findAttributes, isSameEverywhere, placeClusters } from './clusters.ts';
import type { BibliographyItem } from './csl.ts';

export { rememberCitations } from './remember.ts';

export interface CiteRequest {
  /** Sanitized. Citing changes it: it is not for further use. */
  readonly ast: PandocAst;
  readonly references: readonly BibliographyItem[];
  /** CSL, checked; null: Pandoc's default, Chicago author-date. */
  readonly style: string | null;
  /** BCP 47; decides words such as "and" and "accessed". */
  readonly language: string;
  readonly signal: AbortSignal;
}

export interface CitedDocument {
  /** With citations and references written out, still within Cite nodes. */
  readonly ast: PandocAst;
  /** Keys without an entry. The document shows them as **key?**. */
  readonly missing: string[];
  readonly warnings: string[];
}

/** Removed from a document, because citeproc would read files that these name. */
const citationMetadataKeys = new Set([
  'bibliography',
  'references',
  'csl',
  'citation-style',
  'citation-abbreviations',
  'link-citations',
  'link-bibliography',
]);
const maxCitationWarnings = 50;

/** Writes citations out. The list of references is at the end, or where `::: {#refs}` is. */
export async function citeDocument(pandoc: Pandoc, request: CiteRequest): Promise<CitedDocument> {
  const { ast, language } = request;
  const keys = new Set(listCitedKeys(ast).map(({ key }) => key));
  if (keys.size === 0) return { ast, missing: [], warnings: [] };
  // Citeproc is slow with thousands of references, of which ten are cited.
  const references = request.references.filter(({ id }) => keys.has(id) || keys.has('*'));
  const known = new Set(references.map(({ id }) => id));
  const missing = [...keys].filter((key) => key !== '*' && !known.has(key));
  const meta = Object.fromEntries(
    Object.entries(ast.meta).filter(([name]) => !citationMetadataKeys.has(name)),
  );
  const isHeadingNeeded = references.length > 0 && !hasReferencesSection(ast);
  const heading = isHeadingNeeded ? buildReferencesHeading(ast.blocks, language) : null;
  const before = { ...ast, meta, blocks: heading === null ? ast.blocks : [...ast.blocks, heading] };
  const { written, log } = await writeCitations(pandoc, before, { ...request, references });
  const warnings = listCitationWarnings(log);
  return { ast: tidyCitedAst(before, written, missing), missing, warnings };
}

interface WrittenCitations {
  readonly written: PandocAst;
  readonly log: readonly PandocWarning[];
}

/** Only the citations go through citeproc, if the style allows it; otherwise the whole document. */
async function writeCitations(
  pandoc: Pandoc,
  document: PandocAst,
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
  document: PandocAst,
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
  return { written: parseAst(output), log: warnings };
}

/** Whether the document says where its references go, or has a heading for them. */
const hasReferencesSection = ({ meta, blocks }: PandocAst): boolean =>
  findAttributes(blocks, 'refs') !== null ||
  'reference-section-title' in meta ||
  'suppress-bibliography' in meta;

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
function tidyCitedAst({ meta: given }: PandocAst, cited: PandocAst, missing: readonly string[]): PandocAst {
  const { lang: _, nocite: __, ...others } = cited.meta;
  const own = Object.entries(others).filter(([name]) => !citationMetadataKeys.has(name));
  const lang = given['lang'];
  const meta = { ...Object.fromEntries(own), ...(lang !== undefined && { lang }) };
  const tidied = { ...cited, meta };
  if (missing.length > 0) removeCitationLinks(tidied, new Set(missing.map((key) => `#ref-${key}`)));
  return tidied;
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
function buildReferencesHeading(blocks: readonly PandocBlock[], language: string): PandocBlock | null {
  const levels = blocks.flatMap((block) => (block.t === 'Header' ? block.c[0] : []));
  if (levels.length === 0 || blocks.at(-1)!.t === 'Header') return null;
  const level = levels.reduce((least, one) => Math.min(least, one));
  const name = referencesHeadings[language.toLowerCase().split('-')[0] ?? ''] ?? referencesHeadings['en']!;
  const words = toWordInlines(name);
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

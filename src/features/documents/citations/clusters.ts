/**
 * Has each different citation of a document written once, and puts what was written where it belongs. The rest of the
 * document does not go through citeproc: it is most of the tree, and citeproc would return it as it is. It calls no
 * Pandoc (`cite.ts` does), and is only for styles in which a citation looks the same wherever it stands.
 */
import { type PandocAst, type PandocAttr, type PandocBlock, type PandocInline } from '../sanitize/ast.ts';
import { isAstNode, toInlineText, visitAst } from '../sanitize/markdown.ts';

type CitationNode = Extract<PandocInline, { t: 'Cite' }>;
type CitationDivision = Extract<PandocBlock, { t: 'Div' }>;

/** A style with these writes a citation differently when it is repeated, or counts notes. */
const dependsOnPlace = /\bposition\s*=|\bet-al-subsequent-|note-number|\bnear-note/;
const isInText = /<style\b[^>]*\bclass\s*=\s*["']in-text["']/;

/** Pandoc's own style, which is null, is one of these. */
export const isSameEverywhere = (style: string | null): boolean =>
  style === null || (isInText.test(style) && !dependsOnPlace.test(style));

/** Metadata that decides what citeproc writes, besides what `cite.ts` sets. */
const citeprocMetadata = new Set(['nocite', 'reference-section-title', 'suppress-bibliography', 'lang']);

/** Where the citations are in the short document, and in what comes back. */
const clustersDivision = 'citations';

/** A short document: each different citation once, in the order of the text, and then the place of the references. */
export function collectClusters(document: PandocAst): PandocAst {
  const clusters = new Map<string, PandocBlock>();
  visitAst(withoutNocite(document), (node) => {
    if (node.t !== 'Cite') return;
    const key = toClusterKey(node);
    if (!clusters.has(key)) clusters.set(key, { t: 'Para', c: [{ t: 'Cite', c: [node.c[0], []] }] });
  });
  const first: PandocBlock = { t: 'Div', c: [[clustersDivision, [], []], [...clusters.values()]] };
  const kept = Object.entries(document.meta).filter(([name]) => citeprocMetadata.has(name));
  return {
    ...document,
    meta: Object.fromEntries(kept),
    blocks: [first, buildReferencesPlace(document.blocks)],
  };
}

/** What citeproc looks at: a division for the references, or a heading at the end. */
function buildReferencesPlace(blocks: readonly PandocBlock[]): PandocBlock {
  const own = findReferencesDivision(blocks);
  if (own !== null) return { t: 'Div', c: [own.c[0], []] };
  const last = blocks.at(-1);
  return last?.t === 'Header' ? last : { t: 'Para', c: [] };
}

/**
 * The document with the citations and references of the short one, which are put into its own nodes. Null if they change
 * the text around them.
 */
export function placeClusters(document: PandocAst, short: PandocAst, written: PandocAst): PandocAst | null {
  const texts = pairClusters(short, written);
  if (texts === null) return null;
  const { meta, blocks } = withoutNocite(document);
  placeCitations(meta, texts);
  placeCitations(blocks, texts);
  return { ...document, blocks: placeReferences(blocks, written.blocks.slice(1)) };
}

function withoutNocite(document: PandocAst): PandocAst {
  const { nocite: _, ...meta } = document.meta;
  return { ...document, meta };
}

/** Notes have numbers, and citations in a note theirs: these styles do not look at them. */
const toClusterKey = ({ c: [citations] }: CitationNode): string =>
  JSON.stringify(citations.map((each) => ({ ...each, citationHash: 0, citationNoteNum: 0 })));

/** The attributes with this id, wherever they are in the tree. */
export function findAttributes(part: unknown, id: string): PandocAttr | null {
  if (!Array.isArray(part)) {
    const { c } = (part ?? {}) as { c?: unknown };
    return Array.isArray(c) ? findAttributes(c, id) : null;
  }
  if (part[0] === id && Array.isArray(part[1])) return part as PandocAttr;
  for (const child of part) {
    const found = typeof child === 'object' ? findAttributes(child, id) : null;
    if (found !== null) return found;
  }
  return null;
}

const isReferencesDivision = (block: PandocBlock | PandocInline | undefined): block is CitationDivision =>
  block?.t === 'Div' && block.c[0][0] === 'refs';

function findReferencesDivision(blocks: readonly PandocBlock[]): CitationDivision | null {
  if (findAttributes(blocks, 'refs') === null) return null;
  const found: CitationDivision[] = [];
  visitAst({ 'pandoc-api-version': [], meta: {}, blocks: [...blocks] }, (node) => {
    if (isReferencesDivision(node)) found.push(node);
  });
  return found[0] ?? null;
}

/** What was written for each citation; null if one is a note or raised, which takes away the space before it. */
function pairClusters(short: PandocAst, written: PandocAst): Map<string, PandocInline[]> | null {
  const [asked, answered] = [listClusters(short), listClusters(written)];
  const texts = new Map<string, PandocInline[]>();
  for (const [at, node] of asked.entries()) {
    const text = answered[at]?.c[1];
    if (text === undefined || text.some(({ t }) => t === 'Note' || t === 'Superscript')) return null;
    texts.set(toClusterKey(node), text);
  }
  return texts;
}

function listClusters({ blocks: [first] }: PandocAst): CitationNode[] {
  const paragraphs = first?.t === 'Div' ? first.c[1] : [];
  return paragraphs.flatMap((block) => {
    const [node, ...others] = block.t === 'Para' ? block.c : [];
    return node?.t === 'Cite' && others.length === 0 ? [node] : [];
  });
}

/** Gives every citation its text. */
function placeCitations(part: unknown, texts: ReadonlyMap<string, PandocInline[]>): void {
  if (typeof part !== 'object' || part === null) return;
  if (Array.isArray(part)) {
    for (const child of part) if (!isCitation(child)) placeCitations(child, texts);
    if (part.some(isCitation)) placeInList(part as PandocInline[], texts);
  } else if (!isAstNode(part)) for (const child of Object.values(part)) placeCitations(child, texts);
  else placeCitations(part.c, texts);
}

const isCitation = (part: unknown): part is CitationNode =>
  typeof part === 'object' && part !== null && (part as PandocInline).t === 'Cite';

/** As citeproc does it, a citation that ends with a full stop needs no other. */
function placeInList(list: PandocInline[], texts: ReadonlyMap<string, PandocInline[]>): void {
  const placed = list.map((node): PandocInline =>
    isCitation(node) ? { t: 'Cite', c: [node.c[0], texts.get(toClusterKey(node)) ?? node.c[1]] } : node,
  );
  const isNeeded = (node: PandocInline, at: number): boolean => {
    const before = placed[at - 1];
    return !(
      node.t === 'Str' &&
      node.c === '.' &&
      isCitation(before) &&
      toInlineText(before.c[1]).endsWith('.')
    );
  };
  list.length = 0;
  for (const node of placed.filter(isNeeded)) list.push(node);
}

/** The references follow the text, or go where the document has a place for them. */
function placeReferences(blocks: PandocBlock[], written: readonly PandocBlock[]): PandocBlock[] {
  const [first, ...others] = written;
  const own = findReferencesDivision(blocks);
  if (own !== null && isReferencesDivision(first)) {
    own.c = [first.c[0], [...own.c[1], ...first.c[1]]];
    return blocks;
  }
  const isHeading = blocks.at(-1)?.t === 'Header' && first !== undefined;
  return isHeading ? [...blocks.slice(0, -1), first, ...others] : [...blocks, ...others];
}

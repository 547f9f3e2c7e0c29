/**
 * Has each different citation of a document written once, and puts what was written where it belongs. The rest of the
 * document does not go through citeproc: it is most of the tree, and citeproc would return it as it is. It calls no
 * Pandoc (`cite.ts` does), and is only for styles in which a citation looks the same wherever it stands.
 */

export interface CitationBlock {
  readonly t: string;
  readonly c?: unknown;
}

export interface CitationAst {
  readonly meta: Record<string, unknown>;
  blocks: CitationBlock[];
}

interface CitationNode {
  readonly t: 'Cite';
  readonly c: readonly [citations: readonly object[], text: readonly CitationBlock[]];
}

/** A style with these writes a citation differently when it is repeated, or counts notes. */
const dependsOnPlace = /\bposition\s*=|\bet-al-subsequent-|note-number|\bnear-note/;
const isInText = /<style\b[^>]*\bclass\s*=\s*["']in-text["']/;

/** Pandoc's own style, which is null, is one of these. */
export const isSameEverywhere = (style: string | null): boolean =>
  style === null || (isInText.test(style) && !dependsOnPlace.test(style));

/** Metadata that decides what citeproc writes, besides what `cite.ts` sets. */
const citeprocMetadata = ['nocite', 'reference-section-title', 'suppress-bibliography', 'lang'];

/** Where the citations are in the short document, and in what comes back. */
const clustersDivision = 'citations';

/** A short document: each different citation once, in the order of the text, and then the place of the references. */
export function collectClusters(document: CitationAst): CitationAst {
  const clusters = new Map<string, CitationNode>();
  visitCitations([withoutNocite(document.meta), document.blocks], (node) => {
    const key = toClusterKey(node);
    if (!clusters.has(key)) clusters.set(key, { t: 'Cite', c: [node.c[0], []] });
  });
  const paragraphs = clusters.values().map((node) => ({ t: 'Para', c: [node] }));
  const first = { t: 'Div', c: [[clustersDivision, [], []], [...paragraphs]] };
  const kept = Object.entries(document.meta).filter(([name]) => citeprocMetadata.includes(name));
  const ownDivision = findReferencesDivision(document.blocks);
  const last = document.blocks.at(-1);
  const place =
    ownDivision !== null
      ? [{ t: 'Div', c: [ownDivision.c[0], []] }]
      : last?.t === 'Header'
        ? [last]
        : [{ t: 'Para', c: [] }];
  return { ...document, meta: Object.fromEntries(kept), blocks: [first, ...place] };
}

/** The document with the citations and references of the short one; null if they change the text around them. */
export function placeClusters(
  document: CitationAst,
  short: CitationAst,
  written: CitationAst,
): CitationAst | null {
  const texts = pairClusters(short, written);
  if (texts === null) return null;
  const place = (part: unknown): unknown => placeCitations(part, texts);
  const { nocite, ...meta } = document.meta;
  const placed = place(meta) as Record<string, unknown>;
  return {
    ...document,
    meta: nocite === undefined ? placed : { ...placed, nocite },
    blocks: placeReferences(place(document.blocks) as CitationBlock[], written.blocks.slice(1)),
  };
}

function withoutNocite({ nocite: _, ...others }: CitationAst['meta']): CitationAst['meta'] {
  return others;
}

/** Notes have numbers, and citations in a note theirs: these styles do not look at them. */
const toClusterKey = ({ c: [citations] }: CitationNode): string =>
  JSON.stringify(citations, (name, value: unknown) =>
    name === 'citationHash' || name === 'citationNoteNum' ? 0 : value,
  );

function visitCitations(part: unknown, see: (node: CitationNode) => void): void {
  if (typeof part !== 'object' || part === null) return;
  if (isCitation(part)) return see(part);
  for (const child of Array.isArray(part) ? part : Object.values(part)) visitCitations(child, see);
}

function isCitation(part: unknown): part is CitationNode {
  return typeof part === 'object' && part !== null && (part as CitationBlock).t === 'Cite';
}

type DivisionNode = CitationBlock & {
  readonly c: readonly [readonly [id: string, ...unknown[]], CitationBlock[]];
};

const isReferencesDivision = (part: CitationBlock): part is DivisionNode =>
  part.t === 'Div' && (part as DivisionNode).c[0][0] === 'refs';

function findReferencesDivision(part: unknown): DivisionNode | null {
  if (typeof part !== 'object' || part === null) return null;
  if (isReferencesDivision(part as CitationBlock)) return part as DivisionNode;
  for (const child of Array.isArray(part) ? part : Object.values(part)) {
    const found = findReferencesDivision(child);
    if (found !== null) return found;
  }
  return null;
}

/** What was written for each citation; null if one is a note or raised, which takes away the space before it. */
function pairClusters(
  short: CitationAst,
  written: CitationAst,
): Map<string, readonly CitationBlock[]> | null {
  const [asked, answered] = [short, written].map(
    ({ blocks }) => (blocks[0] as DivisionNode).c[1] as { readonly c: readonly CitationNode[] }[],
  );
  const texts = new Map<string, readonly CitationBlock[]>();
  for (const [at, { c }] of asked!.entries()) {
    const [node] = answered![at]?.c ?? [];
    if (answered![at]?.c.length !== 1 || !isCitation(node)) return null;
    if (node.c[1].some(({ t }) => t === 'Note' || t === 'Superscript')) return null;
    texts.set(toClusterKey(c[0]!), node.c[1]);
  }
  return texts;
}

/** A copy in which every citation has its text. */
function placeCitations(part: unknown, texts: ReadonlyMap<string, readonly CitationBlock[]>): unknown {
  if (typeof part !== 'object' || part === null) return part;
  if (isCitation(part)) return { t: 'Cite', c: [part.c[0], texts.get(toClusterKey(part)) ?? part.c[1]] };
  if (Array.isArray(part)) return tidyAroundCitations(part.map((child) => placeCitations(child, texts)));
  return Object.fromEntries(
    Object.entries(part).map(([name, child]) => [name, placeCitations(child, texts)]),
  );
}

/** As citeproc does it: a citation that ends with a full stop needs no other. */
function tidyAroundCitations(list: readonly unknown[]): unknown[] {
  return list.filter((part, at) => {
    const { t, c } = (part ?? {}) as Partial<CitationBlock>;
    const before = list[at - 1];
    return !(t === 'Str' && c === '.' && isCitation(before) && toLastText(before.c[1]).endsWith('.'));
  });
}

/** The last words of a text, however deep they are. */
function toLastText(part: unknown): string {
  if (typeof part === 'string') return part;
  if (typeof part !== 'object' || part === null) return '';
  if (Array.isArray(part)) return toLastText(part.findLast((child) => typeof child === 'object'));
  const { t, c } = part as CitationBlock;
  if (t === 'Str') return toLastText(c);
  if (t === 'Link') return toLastText((c as readonly unknown[])[1]);
  return Array.isArray(c) ? toLastText(c) : '';
}

/** The references follow the text, or go where the document has a place for them. */
function placeReferences(blocks: CitationBlock[], written: readonly CitationBlock[]): CitationBlock[] {
  const [first, ...others] = written;
  const own = findReferencesDivision(blocks);
  if (own !== null && first !== undefined && isReferencesDivision(first)) {
    (own as { c: unknown }).c = [first.c[0], [...own.c[1], ...first.c[1]]];
    return blocks;
  }
  const last = blocks.at(-1)?.t === 'Header' && first !== undefined ? [first] : [];
  return [...(last.length > 0 ? blocks.slice(0, -1) : blocks), ...last, ...others];
}

/**
 * The allow-list of ids, classes and attributes, the anchors that links lead to, and page breaks. Link targets and
 * pictures are in `links.ts`.
 */
import { rewriteAst, type PandocAst, type PandocAttr, type PandocBlock, type PandocInline } from './ast.ts';
import { isParagraph, toInlineText } from './text.ts';

const maxIdCharacters = 200;
const maxAttrClasses = 10;
/** Languages of code (`c++`, `c#`), and classes that writers know, such as `unnumbered` or `csl-entry`. */
const classPattern = /^[\p{L}\p{N}_][\p{L}\p{N}_+#-]{0,59}$/u;
/** Pandoc would write an SVG of this class into the page as it is. */
const refusedClasses = new Set(['inline-svg']);

const lengthPattern = /^\d{1,4}(\.\d{1,3})?(%|px|pt|mm|cm|in|em)$/;
const languagePattern = /^[a-z]{2,3}(-[a-z0-9]{2,8}){0,4}$/i;
const styleNamePattern = /^[\p{L}\p{N}][\p{L}\p{N} _-]{0,59}$/u;
const smallNumberPattern = /^\d{1,4}$/;
const directionPattern = /^(ltr|rtl|auto)$/;
const rolePattern = /^doc-[a-z]{1,30}$/;

/** The allow-list of attributes for each type of node, with their form. Pandoc's writers turn many others into code. */
const allowedAttrPatterns: Readonly<Record<string, Readonly<Record<string, RegExp>>>> = {
  Image: { width: lengthPattern, height: lengthPattern },
  CodeBlock: { startFrom: smallNumberPattern },
  Span: { lang: languagePattern, dir: directionPattern, 'custom-style': styleNamePattern },
  Div: {
    lang: languagePattern,
    dir: directionPattern,
    'custom-style': styleNamePattern,
    width: lengthPattern,
    role: rolePattern,
    'entry-spacing': smallNumberPattern,
    'line-spacing': smallNumberPattern,
  },
  Link: { role: rolePattern },
};

/** Keeps what is known to be harmless, and silently drops the rest. */
export function sanitizeAttr([id, classes, pairs]: PandocAttr, of: string): PandocAttr {
  const kept = classes.filter((name) => classPattern.test(name) && !refusedClasses.has(name));
  const isBreak = of === 'Div' && pairs.some(isPageBreakStyle);
  return [
    canBeAnchor(of) ? sanitizeId(id) : '',
    [...(isBreak ? [pageBreakClass] : []), ...new Set(kept)].slice(0, maxAttrClasses),
    sanitizeAttrPairs(pairs, of),
  ];
}

/** Used for an id and for links to it, so that they still match. */
export function sanitizeId(id: string): string {
  return id
    .slice(0, maxIdCharacters)
    .toWellFormed()
    .replace(/[^\p{L}\p{N}_:.-]/gu, '-');
}

function sanitizeAttrPairs(pairs: PandocAttr[2], of: string): PandocAttr[2] {
  const forms = Object.hasOwn(allowedAttrPatterns, of) ? allowedAttrPatterns[of]! : {};
  const kept = new Map<string, string>();
  for (const [key, value] of pairs)
    if (!kept.has(key) && Object.hasOwn(forms, key) && forms[key]!.test(value)) kept.set(key, value);
  return [...kept];
}

/** Such as `<div style="page-break-after: always">`, the way to write it for a browser. */
function isPageBreakStyle([key, value]: [string, string]): boolean {
  return key === 'style' && /\bbreak-(?:after|before)\s*:\s*(?:always|page)\b/i.test(value.slice(0, 1000));
}

/** Nodes whose ids every writer turns into link targets. */
const anchorNodeTypes = new Set(['Header', 'Div', 'Span', 'Figure', 'Table']);
/** Citeproc puts the bibliography into the division with this id. */
const bibliographyId = 'refs';

const canBeAnchor = (of: string): boolean => anchorNodeTypes.has(of);

/** Typst cannot label empty content, or the same content twice. */
export function removeEmptyAnchor(node: PandocInline): PandocInline {
  if (node.t !== 'Span' || node.c[0][0] === '') return node;
  const [[, classes, pairs], inside] = node.c;
  const [only, ...others] = inside;
  const isMarked = only?.t === 'Span' && only.c[0][0] !== '' && others.length === 0;
  return isMarked || toInlineText(inside).trim() === ''
    ? { t: 'Span', c: [['', classes, pairs], inside] }
    : node;
}

/**
 * Makes every id unique, and turns links to missing ids into text: Typst would fail on them. `lost` is called for each
 * such link.
 */
export function makeAnchorsUnique(ast: PandocAst, lost: (target: string) => void): PandocAst {
  const [ids, numbers] = [new Set<string>(), new Map<string, number>()];
  const hasBibliography = ast.blocks.some((block) => block.t === 'Div' && block.c[0][0] === bibliographyId);
  const unique = ([id, classes, pairs]: PandocAttr, of: string): PandocAttr => {
    const isTaken = ids.has(id) || (id === bibliographyId && of !== 'Div' && hasBibliography);
    const own = id === '' || !isTaken ? id : findFreeId(id, ids, numbers);
    if (own !== '') ids.add(own);
    return [own, classes, pairs];
  };
  return dropLostLinks(rewriteAst(ast, { attr: unique }), lost);
}

/** The last round removes all links within the document, so that no document takes long. */
const maxLinkRounds = 10;

/**
 * A link that becomes text may leave a span around another span, which then loses its id, and with it the links to it.
 * So this goes in rounds, until no link is lost.
 */
function dropLostLinks(ast: PandocAst, lost: (target: string) => void): PandocAst {
  let current = ast;
  for (let round = 1; ; round++) {
    const ids = round < maxLinkRounds ? findAstIds(current) : new Set<string>();
    let hasLost = false;
    const tell = (target: string): void => {
      hasLost = true;
      lost(target);
    };
    current = rewriteAst(current, {
      inlines: (list) => list.flatMap((node) => dropLostLink(node, ids, tell)).map(removeEmptyAnchor),
    });
    if (!hasLost) return current;
  }
}

function findAstIds(ast: PandocAst): Set<string> {
  const ids = new Set<string>();
  const attr = (each: PandocAttr): PandocAttr => {
    ids.add(each[0]);
    return each;
  };
  rewriteAst(ast, { attr });
  return ids;
}

/** Continues from the last number, so that many equal ids do not take quadratic time. */
function findFreeId(id: string, ids: ReadonlySet<string>, numbers: Map<string, number>): string {
  let number = numbers.get(id) ?? 2;
  while (ids.has(`${id}-${number}`)) number++;
  numbers.set(id, number + 1);
  return `${id}-${number}`;
}

function dropLostLink(
  node: PandocInline,
  ids: ReadonlySet<string>,
  lost: (target: string) => void,
): PandocInline[] {
  if (node.t !== 'Link') return [node];
  const [, text, [url]] = node.c;
  if (!url.startsWith('#') || ids.has(url.slice(1))) return [node];
  lost(url);
  return text;
}

/** An empty Div of this class begins a new page; `formats/tree.ts` writes it for each format. */
export const pageBreakClass = 'page-break';

const pageBreakCommand = /^\\(?:newpage|pagebreak|clearpage)$/;

function buildPageBreak(): PandocBlock {
  return { t: 'Div', c: [['', [pageBreakClass], []], []] };
}

/** Splits at `\newpage` on a line of its own. `keep` is called for any other, which stays text. */
export function splitAtPageBreaks(block: PandocBlock, keep: (command: string) => void): PandocBlock[] {
  if (!isParagraph(block) || !block.c.some(isPageBreakCommand)) return [block];
  const { t, c } = block;
  const pieces: PandocBlock[] = [];
  let from = 0;
  for (const [at, node] of c.entries()) {
    if (!isPageBreakCommand(node)) continue;
    if (!isLineEnd(c[at - 1]) || !isLineEnd(c[at + 1])) {
      keep(node.c);
      continue;
    }
    pieces.push({ t, c: c.slice(from, Math.max(from, at - 1)) }, buildPageBreak());
    from = at + 2;
  }
  pieces.push({ t, c: c.slice(from) });
  return pieces.filter((piece) => !isParagraph(piece) || piece.c.length > 0);
}

const isPageBreakCommand = (node: PandocInline): node is Extract<PandocInline, { t: 'Str' }> =>
  node.t === 'Str' && pageBreakCommand.test(node.c);
const isLineEnd = (node: PandocInline | undefined): boolean =>
  node === undefined || node.t === 'SoftBreak' || node.t === 'LineBreak';

/** Moves the content of such a Div behind it, so that writers can replace the Div by a page break. */
export function splitPageBreakDivision(block: PandocBlock): PandocBlock[] {
  if (block.t !== 'Div' || !block.c[0][1].includes(pageBreakClass)) return [block];
  return [buildPageBreak(), ...block.c[1]];
}

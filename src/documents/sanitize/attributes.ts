import { rewrite, type Ast, type Attr, type Block, type Inline } from './ast.ts';
import { isParagraph, plainText } from './text.ts';

const mostIdCharacters = 200;
const mostClasses = 10;
/** Languages of code (`c++`, `c#`), and classes that writers know, such as `unnumbered` or `csl-entry`. */
const classForm = /^[\p{L}\p{N}_][\p{L}\p{N}_+#-]{0,59}$/u;
/** Pandoc would write an SVG of this class into the page as it is. */
const refusedClasses = new Set(['inline-svg']);

const length = /^\d{1,4}(\.\d{1,3})?(%|px|pt|mm|cm|in|em)$/;
const language = /^[a-z]{2,3}(-[a-z0-9]{2,8}){0,4}$/i;
const styleName = /^[\p{L}\p{N}][\p{L}\p{N} _-]{0,59}$/u;
const smallNumber = /^\d{1,4}$/;
const direction = /^(ltr|rtl|auto)$/;
const role = /^doc-[a-z]{1,30}$/;

/** What may stand at which node, and in which form. Pandoc's writers turn many others into code. */
const pairForms: Readonly<Record<string, Readonly<Record<string, RegExp>>>> = {
  Image: { width: length, height: length },
  CodeBlock: { startFrom: smallNumber },
  Span: { lang: language, dir: direction, 'custom-style': styleName },
  Div: {
    lang: language,
    dir: direction,
    'custom-style': styleName,
    width: length,
    role,
    'entry-spacing': smallNumber,
    'line-spacing': smallNumber,
  },
  Link: { role },
};

/** Of an attribute, what is known to be harmless; the rest goes without a word. */
export function judgeAttr([id, classes, pairs]: Attr, of: string): Attr {
  const kept = classes.filter((name) => classForm.test(name) && !refusedClasses.has(name));
  const isBreak = of === 'Div' && pairs.some(breaksPage);
  return [
    canBeAnchor(of) ? judgeId(id) : '',
    [...(isBreak ? [pageBreakClass] : []), ...new Set(kept)].slice(0, mostClasses),
    judgePairs(pairs, of),
  ];
}

/** The same for an id and for a link to it, so that they still meet. */
export function judgeId(id: string): string {
  return id
    .slice(0, mostIdCharacters)
    .toWellFormed()
    .replace(/[^\p{L}\p{N}_:.-]/gu, '-');
}

function judgePairs(pairs: Attr[2], of: string): Attr[2] {
  const forms = Object.hasOwn(pairForms, of) ? pairForms[of]! : {};
  const kept = new Map<string, string>();
  for (const [key, value] of pairs)
    if (!kept.has(key) && Object.hasOwn(forms, key) && forms[key]!.test(value)) kept.set(key, value);
  return [...kept];
}

/** As `<div style="page-break-after: always">` does, which is how it is written for a browser. */
function breaksPage([key, value]: [string, string]): boolean {
  return key === 'style' && /\bbreak-(?:after|before)\s*:\s*(?:always|page)\b/i.test(value.slice(0, 1000));
}

/** Nodes whose ids every writer makes a place of that a link can lead to. */
const anchored = new Set(['Header', 'Div', 'Span', 'Figure', 'Table']);
/** The bibliography is found by it. */
const bibliography = 'refs';

const canBeAnchor = (of: string): boolean => anchored.has(of);

/** Typst can mark neither nothing, nor the same thing twice. */
export function withoutLostAnchor(node: Inline): Inline {
  if (node.t !== 'Span' || node.c[0][0] === '') return node;
  const [[, classes, pairs], inside] = node.c;
  const [only, ...others] = inside;
  const isMarked = only?.t === 'Span' && only.c[0][0] !== '' && others.length === 0;
  return isMarked || plainText(inside).trim() === ''
    ? { t: 'Span', c: [['', classes, pairs], inside] }
    : node;
}

/**
 * Every id once, and no link to one that is not there: Typst would set nothing at all. `lost` is told of links that
 * became text.
 */
export function withAnchors(ast: Ast, lost: (target: string) => void): Ast {
  const [ids, numbers] = [new Set<string>(), new Map<string, number>()];
  const hasBibliography = ast.blocks.some((block) => block.t === 'Div' && block.c[0][0] === bibliography);
  const unique = ([id, classes, pairs]: Attr, of: string): Attr => {
    const isTaken = ids.has(id) || (id === bibliography && of !== 'Div' && hasBibliography);
    const own = id === '' || !isTaken ? id : freeId(id, ids, numbers);
    if (own !== '') ids.add(own);
    return [own, classes, pairs];
  };
  return dropLostLinks(rewrite(ast, { attr: unique }), lost);
}

/** After so many rounds no link within the document is left, so that no document takes long. */
const mostRounds = 10;

/**
 * A link that becomes text may leave a span around another one, which then loses its id, and with it the links to it;
 * hence in rounds, until none is lost.
 */
function dropLostLinks(ast: Ast, lost: (target: string) => void): Ast {
  let current = ast;
  for (let round = 1; ; round++) {
    const ids = round < mostRounds ? findIds(current) : new Set<string>();
    let hasLost = false;
    const tell = (target: string): void => {
      hasLost = true;
      lost(target);
    };
    current = rewrite(current, {
      inlines: (list) => list.flatMap((node) => linked(node, ids, tell)).map(withoutLostAnchor),
    });
    if (!hasLost) return current;
  }
}

function findIds(ast: Ast): Set<string> {
  const ids = new Set<string>();
  const attr = (each: Attr): Attr => {
    ids.add(each[0]);
    return each;
  };
  rewrite(ast, { attr });
  return ids;
}

/** Numbers go on from the last one, so that many nodes of one name take no quadratic time. */
function freeId(id: string, ids: ReadonlySet<string>, numbers: Map<string, number>): string {
  let number = numbers.get(id) ?? 2;
  while (ids.has(`${id}-${number}`)) number++;
  numbers.set(id, number + 1);
  return `${id}-${number}`;
}

function linked(node: Inline, ids: ReadonlySet<string>, lost: (target: string) => void): Inline[] {
  if (node.t !== 'Link') return [node];
  const [, text, [url]] = node.c;
  if (!url.startsWith('#') || ids.has(url.slice(1))) return [node];
  lost(url);
  return text;
}

/** An empty Div of this class is where a new page begins, in the words of each format (formats/page-breaks.ts). */
export const pageBreakClass = 'page-break';

const command = /^\\(?:newpage|pagebreak|clearpage)$/;

function pageBreak(): Block {
  return { t: 'Div', c: [['', [pageBreakClass], []], []] };
}

/** `\newpage` on a line of its own, with or without text before and after it; `stands` is told of any other. */
export function pageBreaksOf(block: Block, stands: (command: string) => void): Block[] {
  if (!isParagraph(block) || !block.c.some(isBreakCommand)) return [block];
  const { t, c } = block;
  const pieces: Block[] = [];
  let from = 0;
  for (const [at, node] of c.entries()) {
    if (!isBreakCommand(node)) continue;
    if (!endsLine(c[at - 1]) || !endsLine(c[at + 1])) {
      stands(node.c);
      continue;
    }
    pieces.push({ t, c: c.slice(from, Math.max(from, at - 1)) }, pageBreak());
    from = at + 2;
  }
  pieces.push({ t, c: c.slice(from) });
  return pieces.filter((piece) => !isParagraph(piece) || piece.c.length > 0);
}

const isBreakCommand = (node: Inline): node is Extract<Inline, { t: 'Str' }> =>
  node.t === 'Str' && command.test(node.c);
const endsLine = (node: Inline | undefined): boolean =>
  node === undefined || node.t === 'SoftBreak' || node.t === 'LineBreak';

/** What stands in such a Div goes behind it, so that writers can put a break in its place. */
export function emptiedBreaks(block: Block): Block[] {
  if (block.t !== 'Div' || !block.c[0][1].includes(pageBreakClass)) return [block];
  return [pageBreak(), ...block.c[1]];
}

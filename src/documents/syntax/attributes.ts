import { canBeAnchor } from './anchors.ts';
import type { Attr } from './ast.ts';
import { pageBreakClass } from './page-breaks.ts';

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

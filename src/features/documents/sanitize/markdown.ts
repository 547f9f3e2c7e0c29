/**
 * The door of this folder: how Pandoc is to read Markdown, and what the other rooms use to bound, parse and sanitize a
 * document. Nothing here calls Pandoc or reads a file.
 */
import { type PandocAst } from './ast.ts';
import { visitAst } from './visit.ts';

export { parseAst, serializeAst, type PandocAst } from './ast.ts';
export { checkBoundedText } from './bounds.ts';
export { parseMargin, applyLayoutMetadata } from './front-matter.ts';
export { listCitedKeys, renamePictures, unwrapCitations, type CitedKey } from './links.ts';
export {
  sanitizeAst,
  type EmbeddedPicture,
  type SanitizedDocument,
  type SanitizePolicy,
  type WantedPicture,
} from './sanitize.ts';
export { isAstNode, visitAst } from './visit.ts';
export { decodeUtf8Text, toInlineText, toWordInlines } from './text.ts';

/**
 * Latin, Greek, Cyrillic, punctuation, arrows, maths, boxes: what Libertinus Serif, New Computer Modern (Math) and
 * DejaVu Sans Mono have between them, without the edges of their ranges.
 */
const rareCharacters =
  /[^\t\n\r -~\u00a0-\u0477\u0488-\u04f9\u1e00-\u20c0\u2100-\u2151\u2153-\u2184\u2190-\u23ff\u2500-\u262f\u27c0-\u2aff]/u;

/** Whether the text may have characters that the default fonts lack, so that it is worth to look for them. */
export function hasRareCharacters(ast: PandocAst): boolean {
  let found = false;
  visitAst(ast, (node) => {
    if (found) return;
    if (node.t === 'Str') found = rareCharacters.test(node.c);
    else if (node.t === 'Code' || node.t === 'CodeBlock' || node.t === 'Math')
      found = rareCharacters.test(node.c[1]);
  });
  return found;
}

/**
 * How Pandoc reads a text. HTML and raw blocks are parsed, so that they can be sanitized. LaTeX is read as text, because
 * its macros could grow without bound; so are quotation marks and `<span>`, which take exponential time if they are not
 * closed: `text.ts` and `html.ts` handle them. Lists and headings may follow a paragraph without an empty line, as in
 * other kinds of Markdown.
 */
export const markdownReaderFormat = [
  'markdown',
  '+raw_html',
  '+raw_attribute',
  '-raw_tex',
  '-latex_macros',
  '-smart',
  '-native_spans',
  '+tex_math_single_backslash',
  '+lists_without_preceding_blankline',
  '-blank_before_header',
].join('');

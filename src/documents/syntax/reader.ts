/**
 * How Pandoc reads a text. HTML and raw blocks are read as such, so that they can be judged. Read as text are LaTeX,
 * whose macros could grow without bound, and quotation marks and `<span>`, which take exponential time when they are
 * not closed: typography.ts and html.ts see to them. Lists and headings may follow a paragraph without an empty line,
 * as everywhere but in Pandoc.
 */
export const readerFormat = [
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

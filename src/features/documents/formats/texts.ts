import type { DocumentLayout } from '../document.ts';
import { rewriteAst } from '../sanitize/ast.ts';
import { sanitizeMaths } from './maths.ts';
import {
  moveAbstractToText,
  serializeTree,
  replaceBlocks,
  isDivision,
  parseTrustedAst,
  numberHeadings,
  removePageBreaks,
  writePageBreaks,
  type PandocBlock,
} from './tree.ts';
import { listPictureWarnings, summarizePandocWarnings, type FormatResult, type FormatJob } from './work.ts';

/** With Pandoc's own template, which LaTeX users know. */
export async function writeLatex({ prepared, engines, signal }: FormatJob): Promise<FormatResult> {
  const { layout, pictures } = prepared;
  const { tree, warnings: unsafe } = sanitizeMaths(parseTrustedAst(prepared.ast), 'latex');
  const options = {
    from: 'json',
    to: 'latex',
    standalone: true,
    'number-sections': layout.numberSections,
    'table-of-contents': layout.toc,
    variables: buildLatexVariables(layout),
  };
  const blocks = writePageBreaks(rewriteAst(tree, { blocks: escapeCodeBlocks }).blocks, 'latex');
  const input = serializeTree({ ...tree, blocks });
  const { output, warnings } = await engines.pandoc.convert({ options, input }, signal);
  return {
    bytes: output,
    warnings: [...listPictureWarnings('latex', pictures), ...unsafe, ...summarizePandocWarnings(warnings)],
  };
}

/** TeX reads `^^5c` as a backslash. */
const texCommandPattern = /\\|\^\^/;

/**
 * Code without a language would become a `verbatim`, which does not work in an argument, such as a note to a heading:
 * its commands would run there. Code with a language has every backslash escaped.
 */
function escapeCodeBlocks(blocks: PandocBlock[]): PandocBlock[] {
  return blocks.map((block) => {
    if (block.t !== 'CodeBlock' || !texCommandPattern.test(block.c[1])) return block;
    const [[id, classes, pairs], text] = block.c;
    return { t: 'CodeBlock', c: [[id, classes.length === 0 ? ['default'] : classes, pairs], text] };
  });
}

/** The sizes of the LaTeX classes; `article` has the first three. */
const latexFontSizes = [10, 11, 12, 8, 9, 14, 17, 20];

function buildLatexVariables({ paper, marginMm, fontSizePt }: DocumentLayout): Record<string, unknown> {
  const away = (size: number): number => Math.abs(size - fontSizePt);
  const size = latexFontSizes.reduce((best, other) => (away(other) < away(best) ? other : best));
  return {
    documentclass: size >= 10 && size <= 12 ? 'article' : 'extarticle',
    fontsize: `${size}pt`,
    papersize: paper,
    geometry: [`margin=${marginMm.toFixed(1)}mm`],
    colorlinks: true,
  };
}

/**
 * Pandoc's Markdown with citations and references as text, so that any program can show it. It has no table of contents
 * and no section numbers: the program that shows it may add them.
 */
export async function writeMarkdown({ prepared, engines, signal }: FormatJob): Promise<FormatResult> {
  const { tree, warnings: unsafe } = sanitizeMaths(parseTrustedAst(prepared.ast), 'markdown');
  const options = { from: 'json', to: markdownWriterFormat, standalone: true, wrap: 'none' };
  const input = serializeTree({ ...tree, blocks: unwrapDivisions(removePageBreaks(tree.blocks)) });
  const { output, warnings } = await engines.pandoc.convert({ options, input }, signal);
  return { bytes: output, warnings: [...unsafe, ...summarizePandocWarnings(warnings)] };
}

const markdownWriterFormat = [
  'markdown',
  'citations',
  'simple_tables',
  'multiline_tables',
  'fenced_divs',
  'native_divs',
  'bracketed_spans',
  'native_spans',
  'raw_html',
  'raw_tex',
  'raw_attribute',
  'smart',
].join('-');

export async function writePlain({ prepared, engines, signal }: FormatJob): Promise<FormatResult> {
  const { layout } = prepared;
  const tree = parseTrustedAst(prepared.ast);
  const text = unwrapDivisions(removePageBreaks(tree.blocks));
  const blocks = layout.numberSections ? numberHeadings(text) : text;
  const options = { from: 'json', to: 'plain', standalone: true, 'table-of-contents': layout.toc };
  const { output, warnings } = await engines.pandoc.convert(
    { options, input: serializeTree(moveAbstractToText({ ...tree, blocks }, null)) },
    signal,
  );
  // In plain text, maths is always TeX: no warning is needed.
  return {
    bytes: removeLeadingNewlines(output),
    warnings: summarizePandocWarnings(warnings.filter(({ type }) => type !== 'CouldNotConvertTeXMath')),
  };
}

const plainTextNewline = 0x0a;

/** Pandoc leaves empty lines for a title even if there is none. */
function removeLeadingNewlines(text: Uint8Array): Uint8Array {
  const start = text.findIndex((byte) => byte !== plainTextNewline);
  return start > 0 ? text.subarray(start) : text;
}

/** Pandoc's Markdown writer drops references that are in their division. */
function unwrapDivisions(blocks: readonly PandocBlock[]): PandocBlock[] {
  return replaceBlocks(blocks, (block) => (isDivision(block) ? unwrapDivisions(block.c[1]) : null));
}

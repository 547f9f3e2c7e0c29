import type { Layout } from '../document.ts';
import { rewrite } from '../sanitize/ast.ts';
import { withSafeMaths } from './maths.ts';
import {
  abstractFirst,
  bytesOf,
  changed,
  isDivision,
  treeOf,
  withNumbers,
  withoutPageBreaks,
  withPageBreaks,
  type Block,
} from './tree.ts';
import { pictureWarnings, warningsFrom, type Result, type Work } from './work.ts';

/** By Pandoc's own template, which people who use LaTeX know. */
export async function writeLatex({ prepared, engines, signal }: Work): Promise<Result> {
  const { layout, pictures } = prepared;
  const { tree, warnings: unsafe } = withSafeMaths(treeOf(prepared.ast), 'latex');
  const options = {
    from: 'json',
    to: 'latex',
    standalone: true,
    'number-sections': layout.numberSections,
    'table-of-contents': layout.toc,
    variables: latexVariables(layout),
  };
  const blocks = withPageBreaks(rewrite(tree, { blocks: withEscapedCode }).blocks, 'latex');
  const input = bytesOf({ ...tree, blocks });
  const { output, warnings } = await engines.pandoc.convert({ options, input }, signal);
  return {
    bytes: output,
    warnings: [...pictureWarnings('latex', pictures), ...unsafe, ...warningsFrom(warnings)],
  };
}

/** TeX reads `^^5c` as a backslash. */
const spellsCommand = /\\|\^\^/;

/**
 * Code without a language would be in a `verbatim`, which means nothing to TeX where it is in an argument, as in a note to
 * a heading: there its commands would be run. Code with a language has every backslash escaped.
 */
function withEscapedCode(blocks: Block[]): Block[] {
  return blocks.map((block) => {
    if (block.t !== 'CodeBlock' || !spellsCommand.test(block.c[1])) return block;
    const [[id, classes, pairs], text] = block.c;
    return { t: 'CodeBlock', c: [[id, classes.length === 0 ? ['default'] : classes, pairs], text] };
  });
}

/** The sizes that the classes of LaTeX know, the first three by `article`. */
const latexSizes = [10, 11, 12, 8, 9, 14, 17, 20];

function latexVariables({ paper, marginMm, fontSizePt }: Layout): Record<string, unknown> {
  const away = (size: number): number => Math.abs(size - fontSizePt);
  const size = latexSizes.reduce((best, other) => (away(other) < away(best) ? other : best));
  return {
    documentclass: size >= 10 && size <= 12 ? 'article' : 'extarticle',
    fontsize: `${size}pt`,
    papersize: paper,
    geometry: [`margin=${marginMm.toFixed(1)}mm`],
    colorlinks: true,
  };
}

/**
 * Pandoc's Markdown with citations and references as text, so that it can be read anywhere. Contents and numbers of
 * sections are left to whoever shows it.
 */
export async function writeMarkdown({ prepared, engines, signal }: Work): Promise<Result> {
  const { tree, warnings: unsafe } = withSafeMaths(treeOf(prepared.ast), 'markdown');
  const options = { from: 'json', to: markdownFormat, standalone: true, wrap: 'none' };
  const input = bytesOf({ ...tree, blocks: withoutDivisions(withoutPageBreaks(tree.blocks)) });
  const { output, warnings } = await engines.pandoc.convert({ options, input }, signal);
  return { bytes: output, warnings: [...unsafe, ...warningsFrom(warnings)] };
}

const markdownFormat = [
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

export async function writePlain({ prepared, engines, signal }: Work): Promise<Result> {
  const { layout } = prepared;
  const tree = treeOf(prepared.ast);
  const text = withoutDivisions(withoutPageBreaks(tree.blocks));
  const blocks = layout.numberSections ? withNumbers(text) : text;
  const options = { from: 'json', to: 'plain', standalone: true, 'table-of-contents': layout.toc };
  const { output, warnings } = await engines.pandoc.convert(
    { options, input: bytesOf(abstractFirst({ ...tree, blocks }, null)) },
    signal,
  );
  // That maths stands as TeX in a plain text is no surprise.
  return {
    bytes: withoutFirstLines(output),
    warnings: warningsFrom(warnings.filter(({ type }) => type !== 'CouldNotConvertTeXMath')),
  };
}

const NEWLINE = 0x0a;

/** Pandoc leaves room for a title also where there is none. */
function withoutFirstLines(text: Uint8Array): Uint8Array {
  const start = text.findIndex((byte) => byte !== NEWLINE);
  return start > 0 ? text.subarray(start) : text;
}

/** Pandoc leaves references out of Markdown where their division tells them from text. */
function withoutDivisions(blocks: readonly Block[]): Block[] {
  return changed(blocks, (block) => (isDivision(block) ? withoutDivisions(block.c[1]) : null));
}

import { rewrite } from '../syntax/rewrite.ts';
import { typstTemplate, templateVariables } from '../typst/template.ts';
import { missingGlyphsWarning } from '../typst/glyphs.ts';
import { withSafeMaths } from './maths.ts';
import { withPageBreaks } from './page-breaks.ts';
import { bytesOf, treeOf, type Inline } from './tree.ts';
import { warningsFrom } from './warnings.ts';
import { filesOf, type Result, type Work } from './work.ts';

/** Typst's markup, which compiles on its own beside its pictures. */
export async function typstMarkup({ prepared, engines, signal }: Work): Promise<Result> {
  const { layout } = prepared;
  const { tree: safe, warnings: unsafe } = withSafeMaths(treeOf(prepared.ast), 'typst');
  const tree = rewrite(safe, { inlines: withoutLastBreaks });
  const options = {
    from: 'json',
    to: 'typst',
    standalone: true,
    template: 'document.typ',
    'number-sections': layout.numberSections,
    'table-of-contents': layout.toc,
    variables: templateVariables(layout, engines.typst.families),
  };
  const input = bytesOf({ ...tree, blocks: withPageBreaks(tree.blocks, 'typst') });
  const files = { 'document.typ': typstTemplate };
  const { output, warnings } = await engines.pandoc.convert({ options, input, files }, signal);
  return { bytes: output, warnings: [...unsafe, ...warningsFrom(warnings)] };
}

/** Pandoc would write the end of a note or a title as `\]`, which is a bracket in the text and not the end. */
function withoutLastBreaks(inlines: Inline[]): Inline[] {
  const last = inlines.findLastIndex(({ t }) => t !== 'LineBreak' && t !== 'SoftBreak' && t !== 'Space');
  return last === inlines.length - 1 ? inlines : inlines.slice(0, last + 1);
}

export async function writePdf(work: Work): Promise<Result> {
  const { layout, pictures, hasRareCharacters } = work.prepared;
  const markup = await typstMarkup(work);
  const job = {
    source: Buffer.from(markup.bytes).toString('utf8'),
    files: filesOf(pictures),
    pdfA: layout.pdfA,
    findMissing: hasRareCharacters,
  };
  const { pdf, warnings, missing } = await work.engines.typst.compile(job, work.signal);
  const glyphs = missing.length === 0 ? [] : [missingGlyphsWarning([...missing])];
  return { bytes: pdf, warnings: [...markup.warnings, ...warnings, ...glyphs] };
}

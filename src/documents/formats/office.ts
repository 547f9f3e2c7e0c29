import { abstractFirst } from './abstract.ts';
import { docxContents, odtContents } from './contents.ts';
import { withNumbers } from './headings.ts';
import { withPageBreaks } from './page-breaks.ts';
import { referenceDocument } from './reference.ts';
import { demandReferenceDoc } from './reference-doc.ts';
import { bytesOf, changed, hasClass, isDivision, treeOf, type Block, type Inline } from './tree.ts';
import { withPngs } from './svg-pictures.ts';
import { pictureWarnings, warningsFrom } from './warnings.ts';
import { filesOf, type Result, type Work } from './work.ts';

export async function writeDocx({ prepared, engines, signal }: Work): Promise<Result> {
  const { layout, pictures, referenceDoc } = prepared;
  const tree = treeOf(prepared.ast);
  const contents = { language: layout.language, numbered: layout.numberSections };
  const broken = withPageBreaks(tree.blocks, 'docx');
  const blocks = layout.toc ? docxContents(broken, contents) : broken;
  if (referenceDoc !== null) await demandReferenceDoc(referenceDoc, signal);
  const look = { ...layout, hangingReferences: hangs(tree.blocks) };
  const reference = referenceDoc ?? (await referenceDocument('docx', look, engines.pandoc, signal));
  const options = {
    from: 'json',
    to: 'docx+native_numbering',
    standalone: true,
    'reference-doc': 'reference.docx',
    'number-sections': layout.numberSections,
  };
  const files = { ...filesOf(pictures), 'reference.docx': reference };
  const input = bytesOf({ ...tree, blocks });
  const { output, warnings } = await engines.pandoc.convert({ options, input, files }, signal);
  const { bytes, warnings: undrawn } = await withPngs('docx', output, pictures, signal);
  return { bytes, warnings: [...undrawn, ...pictureWarnings('docx', pictures), ...warningsFrom(warnings)] };
}

/** Its writer neither numbers headings nor has an abstract or a style for references. */
export async function writeOdt({ prepared, engines, signal }: Work): Promise<Result> {
  const { layout, pictures } = prepared;
  const tree = treeOf(prepared.ast);
  const contents = { language: layout.language, numbered: layout.numberSections };
  const broken = withReferences(withPageBreaks(tree.blocks, 'odt'));
  const listed = layout.toc ? odtContents(broken, contents) : broken;
  const blocks = layout.numberSections ? withNumbers(listed) : listed;
  const look = { ...layout, hangingReferences: hangs(tree.blocks) };
  const reference = await referenceDocument('odt', look, engines.pandoc, signal);
  const options = {
    from: 'json',
    to: 'odt+native_numbering',
    standalone: true,
    'reference-doc': 'reference.odt',
  };
  const files = { ...filesOf(pictures), 'reference.odt': reference };
  const input = bytesOf(abstractFirst({ ...tree, blocks }, 'Abstract'));
  const { output, warnings } = await engines.pandoc.convert({ options, input, files }, signal);
  return { bytes: output, warnings: warningsFrom(warnings) };
}

/** Whether the citation style wants the further lines of a reference indented. */
function hangs(blocks: readonly Block[]): boolean {
  return blocks.some(
    (block) => isDivision(block) && (hasClass(block, 'hanging-indent') || hangs(block.c[1])),
  );
}

/** In the style for references, with a bookmark to link to: Pandoc would make a section of each. */
function withReferences(blocks: readonly Block[]): Block[] {
  return changed(blocks, (block) => {
    if (!isDivision(block)) return null;
    const [[id, classes], inner] = block.c;
    if (id === 'refs') return withReferences(inner);
    if (!classes.includes('csl-entry')) return null;
    return [{ t: 'Div', c: [['', [], [['custom-style', 'Bibliography']]], marked(inner, id)] }];
  });
}

function marked([first, ...others]: readonly Block[], id: string): Block[] {
  if (first === undefined) return [];
  if (first.t !== 'Para' && first.t !== 'Plain') return [first, ...others];
  const mark: Inline = { t: 'Span', c: [[id, [], []], []] };
  return [{ t: 'Para', c: [mark, ...first.c] }, ...others];
}

import { pageBreakClass } from '../syntax/page-breaks.ts';
import { changed, hasClass, isDivision, type Block } from './tree.ts';

/** How each writer of Pandoc is told to begin a new page. */
const codes = {
  docx: ['openxml', '<w:p><w:r><w:br w:type="page"/></w:r></w:p>'],
  odt: ['opendocument', '<text:p text:style-name="Page_20_break"/>'],
  latex: ['latex', '\\newpage'],
  typst: ['typst', '#pagebreak(weak: true)'],
} as const;

export function withPageBreaks(blocks: readonly Block[], format: keyof typeof codes): Block[] {
  return changed(blocks, (block) =>
    isDivision(block) && hasClass(block, pageBreakClass) ? [{ t: 'RawBlock', c: [...codes[format]] }] : null,
  );
}

export function withoutPageBreaks(blocks: readonly Block[]): Block[] {
  return changed(blocks, (block) => (isDivision(block) && hasClass(block, pageBreakClass) ? [] : null));
}

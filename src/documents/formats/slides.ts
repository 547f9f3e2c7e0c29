import { withoutPageBreaks } from './page-breaks.ts';
import { partsOf } from './slide-parts.ts';
import { withPngs } from './svg-pictures.ts';
import {
  bytesOf,
  hasClass,
  isDivision,
  isHeading,
  noAttributes,
  treeOf,
  unlinked,
  type Block,
  type Heading,
} from './tree.ts';
import { pictureWarnings, warningsFrom } from './warnings.ts';
import { filesOf, type Result, type Work } from './work.ts';

/** Headings of this level begin a slide; those above it stand on a slide of their own. */
const SLIDE = 2;

export async function writePptx({ prepared, engines, signal }: Work): Promise<Result> {
  const { pictures, ast } = prepared;
  const tree = treeOf(ast);
  const options = { from: 'json', to: 'pptx', standalone: true, 'slide-level': SLIDE };
  const input = bytesOf({ ...tree, blocks: slidesOf(withoutPageBreaks(tree.blocks)) });
  const job = { options, input, files: filesOf(pictures) };
  const { output, warnings } = await engines.pandoc.convert(job, signal);
  const { bytes, warnings: undrawn } = await withPngs('pptx', output, pictures, signal);
  return { bytes, warnings: [...undrawn, ...pictureWarnings('pptx', pictures), ...warningsFrom(warnings)] };
}

/**
 * A document dealt out on slides: each heading begins one, a picture or a table has one of its own, and what is too long
 * for one goes on, below the same heading, on the next. Pandoc would let it all run off the slide.
 */
export function slidesOf(blocks: readonly Block[]): Block[] {
  const flat = blocks.flatMap(unfolded);
  const slides: Block[] = [];
  let title: Heading | null = null;
  let taken = 0;
  for (const [at, block] of flat.entries()) {
    if (isHeading(block)) {
      title = block;
      taken = 0;
      slides.push(headingOf(block, flat[at + 1]));
    } else if (block.t === 'HorizontalRule') taken = 1;
    else
      for (const part of partsOf(block)) {
        if (taken > 0 && taken + part.share > 1) {
          slides.push(continuing(title));
          taken = 0;
        }
        slides.push(part.block);
        taken += part.share;
      }
  }
  return slides;
}

/** One with nothing but further headings below it is the name of a part, on a slide of its own. */
function headingOf({ c: [level, attributes, text] }: Heading, following: Block | undefined): Block {
  const isPart = following !== undefined && isHeading(following) && following.c[0] > level;
  return { t: 'Header', c: [isPart ? SLIDE - 1 : SLIDE, attributes, text] };
}

/** The same heading once more; an identifier and a note can be had only once. */
function continuing(title: Heading | null): Block {
  return title === null
    ? { t: 'HorizontalRule' }
    : { t: 'Header', c: [SLIDE, noAttributes, unlinked(title.c[2])] };
}

/** Columns and notes of the speaker are Pandoc's; other divisions only hold blocks together. */
function unfolded(block: Block): readonly Block[] {
  if (!isDivision(block)) return [block];
  return hasClass(block, 'columns') || hasClass(block, 'notes') ? [block] : block.c[1].flatMap(unfolded);
}

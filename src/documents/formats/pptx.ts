import { withPngs } from './svg.ts';
import {
  bytesOf,
  hasClass,
  isDivision,
  isHeading,
  noAttributes,
  textOf,
  treeOf,
  unlinked,
  withoutPageBreaks,
  type Block,
  type Heading,
} from './tree.ts';
import { filesOf, pictureWarnings, warningsFrom, type Result, type Work } from './work.ts';

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

/** Part of a slide's content, and how much of a slide it takes. */
export interface SlidePart {
  readonly block: Block;
  readonly share: number;
}

/** As the usual slide has them: 16 to 9, text of 24 to 28 points. */
const LINES = 9;
const WIDTH = 46;
const CODE_WIDTH = 40;
/** With room for a cell of two lines, and for a caption below. */
const TABLE_ROWS = 7;

/** A block in parts none of which is longer than a slide, as far as it can be parted. */
function partsOf(block: Block): SlidePart[] {
  switch (block.t) {
    case 'BulletList':
      return listParts(block.c, (items) => ({ t: 'BulletList', c: items }));
    case 'OrderedList': {
      const [[start, style, delimiter], items] = block.c;
      return listParts(items, (some, first) => {
        return { t: 'OrderedList', c: [[start + first, style, delimiter], some] };
      });
    }
    case 'CodeBlock':
      return codeParts(block);
    case 'Table':
      return tableParts(block);
    // Has a slide to itself: Pandoc would put other text on top of it.
    case 'Figure':
      return [{ block, share: 1 }];
    default:
      return [{ block, share: linesOf([block]) / LINES }];
  }
}

function linesOf(blocks: readonly Block[]): number {
  return sumOf(blocks, linesOfBlock);
}

const linesOfCode = (line: string): number => Math.max(1, Math.ceil(line.length / CODE_WIDTH));

function sumOf<T>(things: readonly T[], size: (thing: T) => number): number {
  return things.reduce((sum, thing) => sum + size(thing), 0);
}

function linesOfBlock(block: Block): number {
  switch (block.t) {
    case 'BulletList':
      return linesOf(block.c.flat());
    case 'OrderedList':
      return linesOf(block.c[1].flat());
    case 'DefinitionList':
      return block.c.reduce((sum, [, meanings]) => sum + 1 + linesOf(meanings.flat()), 0);
    case 'BlockQuote':
      return linesOf(block.c);
    case 'LineBlock':
      return block.c.length;
    case 'CodeBlock':
      return sumOf(block.c[1].split('\n'), linesOfCode);
    default:
      return Math.max(1, Math.ceil(textOf(block).length / WIDTH));
  }
}

function listParts(items: Block[][], listOf: (items: Block[][], first: number) => Block): SlidePart[] {
  let first = 0;
  return inGroups(items, linesOf, LINES).map((some) => {
    const block = listOf(some, first);
    first += some.length;
    return { block, share: sumOf(some, linesOf) / LINES };
  });
}

function codeParts({ c: [attributes, code] }: Extract<Block, { t: 'CodeBlock' }>): SlidePart[] {
  return inGroups(code.split('\n'), linesOfCode, LINES).map((lines) => {
    const block: Block = { t: 'CodeBlock', c: [attributes, lines.join('\n')] };
    return { block, share: sumOf(lines, linesOfCode) / LINES };
  });
}

function tableParts(table: Extract<Block, { t: 'Table' }>): SlidePart[] {
  const [attributes, caption, columns, head, [body, ...others], foot] = table.c;
  if (body === undefined || others.length > 0) return [{ block: table, share: 1 }];
  const [bodyAttributes, headColumns, bodyHead, rows] = body;
  return inGroups(rows, () => 1, TABLE_ROWS).map((some) => {
    const part: typeof body = [bodyAttributes, headColumns, bodyHead, some];
    return { block: { t: 'Table', c: [attributes, caption, columns, head, [part], foot] }, share: 1 };
  });
}

/** As many at a time as there is room for, and one at least. There is always a group. */
function inGroups<T>(things: readonly T[], size: (thing: T) => number, room: number): T[][] {
  const groups: T[][] = [[]];
  let taken = 0;
  for (const thing of things) {
    if (taken > 0 && taken + size(thing) > room) {
      groups.push([]);
      taken = 0;
    }
    groups.at(-1)!.push(thing);
    taken += size(thing);
  }
  return groups;
}

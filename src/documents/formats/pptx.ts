import { addPngFallbacks } from './svg.ts';
import {
  serializeTree,
  hasDivisionClass,
  isDivision,
  isHeading,
  noAttributes,
  toPlainText,
  parseTrustedAst,
  removeInlineLinks,
  removePageBreaks,
  type PandocBlock,
  type HeadingBlock,
} from './tree.ts';
import {
  toPictureFiles,
  listPictureWarnings,
  summarizePandocWarnings,
  type FormatResult,
  type FormatJob,
} from './work.ts';

/** Headings of this level begin a slide; those above it stand on a slide of their own. */
const slideHeadingLevel = 2;

export async function writePptx({ prepared, engines, signal }: FormatJob): Promise<FormatResult> {
  const { pictures, ast } = prepared;
  const tree = parseTrustedAst(ast);
  const options = { from: 'json', to: 'pptx', standalone: true, 'slide-level': slideHeadingLevel };
  const input = serializeTree({ ...tree, blocks: splitIntoSlides(removePageBreaks(tree.blocks)) });
  const job = { options, input, files: toPictureFiles(pictures) };
  const { output, warnings } = await engines.pandoc.convert(job, signal);
  const { bytes, warnings: undrawn } = await addPngFallbacks('pptx', output, pictures, signal);
  return {
    bytes,
    warnings: [...undrawn, ...listPictureWarnings('pptx', pictures), ...summarizePandocWarnings(warnings)],
  };
}

/**
 * A document dealt out on slides: each heading begins one, a picture or a table has one of its own, and what is too long
 * for one goes on, below the same heading, on the next. Pandoc would let it all run off the slide.
 */
export function splitIntoSlides(blocks: readonly PandocBlock[]): PandocBlock[] {
  const flat = blocks.flatMap(unfoldDivision);
  const slides: PandocBlock[] = [];
  let title: HeadingBlock | null = null;
  let taken = 0;
  for (const [at, block] of flat.entries()) {
    if (isHeading(block)) {
      title = block;
      taken = 0;
      slides.push(toSlideHeading(block, flat[at + 1]));
    } else if (block.t === 'HorizontalRule') taken = 1;
    else
      for (const part of splitIntoSlideParts(block)) {
        if (taken > 0 && taken + part.share > 1) {
          slides.push(toContinuedHeading(title));
          taken = 0;
        }
        slides.push(part.block);
        taken += part.share;
      }
  }
  return slides;
}

/** One with nothing but further headings below it is the name of a part, on a slide of its own. */
function toSlideHeading(
  { c: [level, attributes, text] }: HeadingBlock,
  following: PandocBlock | undefined,
): PandocBlock {
  const isPart = following !== undefined && isHeading(following) && following.c[0] > level;
  return { t: 'Header', c: [isPart ? slideHeadingLevel - 1 : slideHeadingLevel, attributes, text] };
}

/** The same heading once more; an identifier and a note can be had only once. */
function toContinuedHeading(title: HeadingBlock | null): PandocBlock {
  return title === null
    ? { t: 'HorizontalRule' }
    : { t: 'Header', c: [slideHeadingLevel, noAttributes, removeInlineLinks(title.c[2])] };
}

/** Columns and notes of the speaker are Pandoc's; other divisions only hold blocks together. */
function unfoldDivision(block: PandocBlock): readonly PandocBlock[] {
  if (!isDivision(block)) return [block];
  return hasDivisionClass(block, 'columns') || hasDivisionClass(block, 'notes')
    ? [block]
    : block.c[1].flatMap(unfoldDivision);
}

/** Part of a slide's content, and how much of a slide it takes. */
export interface SlidePart {
  readonly block: PandocBlock;
  readonly share: number;
}

/** As the usual slide has them: 16 to 9, text of 24 to 28 points. */
const maxSlideLines = 9;
const slideLineWidth = 46;
const slideCodeWidth = 40;
/** With room for a cell of two lines, and for a caption below. */
const maxSlideTableRows = 7;

/** A block in parts none of which is longer than a slide, as far as it can be parted. */
function splitIntoSlideParts(block: PandocBlock): SlidePart[] {
  switch (block.t) {
    case 'BulletList':
      return splitList(block.c, (items) => ({ t: 'BulletList', c: items }));
    case 'OrderedList': {
      const [[start, style, delimiter], items] = block.c;
      return splitList(items, (some, first) => {
        return { t: 'OrderedList', c: [[start + first, style, delimiter], some] };
      });
    }
    case 'CodeBlock':
      return splitCode(block);
    case 'Table':
      return splitTable(block);
    // Has a slide to itself: Pandoc would put other text on top of it.
    case 'Figure':
      return [{ block, share: 1 }];
    default:
      return [{ block, share: countBlockLines([block]) / maxSlideLines }];
  }
}

function countBlockLines(blocks: readonly PandocBlock[]): number {
  return sumSizes(blocks, countLinesOfBlock);
}

const countCodeLines = (line: string): number => Math.max(1, Math.ceil(line.length / slideCodeWidth));

function sumSizes<T>(things: readonly T[], size: (thing: T) => number): number {
  return things.reduce((sum, thing) => sum + size(thing), 0);
}

function countLinesOfBlock(block: PandocBlock): number {
  switch (block.t) {
    case 'BulletList':
      return countBlockLines(block.c.flat());
    case 'OrderedList':
      return countBlockLines(block.c[1].flat());
    case 'DefinitionList':
      return block.c.reduce((sum, [, meanings]) => sum + 1 + countBlockLines(meanings.flat()), 0);
    case 'BlockQuote':
      return countBlockLines(block.c);
    case 'LineBlock':
      return block.c.length;
    case 'CodeBlock':
      return sumSizes(block.c[1].split('\n'), countCodeLines);
    default:
      return Math.max(1, Math.ceil(toPlainText(block).length / slideLineWidth));
  }
}

function splitList(
  items: PandocBlock[][],
  listOf: (items: PandocBlock[][], first: number) => PandocBlock,
): SlidePart[] {
  let first = 0;
  return groupBySize(items, countBlockLines, maxSlideLines).map((some) => {
    const block = listOf(some, first);
    first += some.length;
    return { block, share: sumSizes(some, countBlockLines) / maxSlideLines };
  });
}

function splitCode({ c: [attributes, code] }: Extract<PandocBlock, { t: 'CodeBlock' }>): SlidePart[] {
  return groupBySize(code.split('\n'), countCodeLines, maxSlideLines).map((lines) => {
    const block: PandocBlock = { t: 'CodeBlock', c: [attributes, lines.join('\n')] };
    return { block, share: sumSizes(lines, countCodeLines) / maxSlideLines };
  });
}

function splitTable(table: Extract<PandocBlock, { t: 'Table' }>): SlidePart[] {
  const [attributes, caption, columns, head, [body, ...others], foot] = table.c;
  if (body === undefined || others.length > 0) return [{ block: table, share: 1 }];
  const [bodyAttributes, headColumns, bodyHead, rows] = body;
  return groupBySize(rows, () => 1, maxSlideTableRows).map((some) => {
    const part: typeof body = [bodyAttributes, headColumns, bodyHead, some];
    return { block: { t: 'Table', c: [attributes, caption, columns, head, [part], foot] }, share: 1 };
  });
}

/** As many at a time as there is room for, and one at least. There is always a group. */
function groupBySize<T>(things: readonly T[], size: (thing: T) => number, room: number): T[][] {
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

import { addPngFallbacks } from './svg.ts';
import {
  serializeTree,
  hasDivisionClass,
  isDivision,
  isHeading,
  noAttributes,
  toTreeText,
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

/** Headings of this level begin a slide; those above it get a slide of their own. */
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
 * Splits a document into slides: each heading begins one, a picture or a table gets its own, and what is too long
 * continues on the next slide below the same heading. Pandoc would let it run off the slide.
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

/** A heading with only further headings below it is the title of a part, on its own slide. */
function toSlideHeading(
  { c: [level, attributes, text] }: HeadingBlock,
  following: PandocBlock | undefined,
): PandocBlock {
  const isPart = following !== undefined && isHeading(following) && following.c[0] > level;
  return { t: 'Header', c: [isPart ? slideHeadingLevel - 1 : slideHeadingLevel, attributes, text] };
}

/** Repeats a heading without its id and notes, which must be unique. */
function toContinuedHeading(title: HeadingBlock | null): PandocBlock {
  return title === null
    ? { t: 'HorizontalRule' }
    : { t: 'Header', c: [slideHeadingLevel, noAttributes, removeInlineLinks(title.c[2])] };
}

/** Pandoc needs the divisions of columns and speaker notes; others only group blocks. */
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

/** Measured on the default slide: 16:9, text of 24 to 28 points. */
const maxSlideLines = 9;
const slideLineWidth = 46;
const slideCodeWidth = 40;
/** With room for a cell of two lines, and for a caption below. */
const maxSlideTableRows = 7;

/** Splits a block into parts that fit on a slide, if it can be split. */
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
    // Gets a slide of its own: Pandoc would put other text on top of it.
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
      return Math.max(1, Math.ceil(toTreeText(block).length / slideLineWidth));
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

/** Groups as many as fit, and at least one. There is always a group. */
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

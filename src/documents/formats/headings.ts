import { changed, isHeading, textOf, unlinked, type Block, type Heading, type Inline } from './tree.ts';

/** A heading as a table of contents has it. */
export interface Entry {
  readonly level: number;
  readonly id: string;
  /** Such as `2.1`; null: none. */
  readonly number: string | null;
  readonly inlines: Inline[];
  readonly text: string;
}

const DEEPEST_ENTRY = 3;

export function entriesOf(blocks: readonly Block[], numbered: boolean): Entry[] {
  const next = counter();
  const entries: Entry[] = [];
  changed(blocks, (block) => {
    if (!isHeading(block)) return null;
    const [level, [id], text] = block.c;
    const number = numbered ? next(block) : null;
    const inlines = unlinked(text);
    if (level <= DEEPEST_ENTRY && !isUnlisted(block))
      entries.push({ level, id, number, inlines, text: textOf(inlines) });
    return [];
  });
  return entries;
}

/** For formats whose writer in Pandoc does not number. */
export function withNumbers(blocks: readonly Block[]): Block[] {
  const next = counter();
  return changed(blocks, (block) => {
    if (!isHeading(block)) return null;
    const [level, attributes, text] = block.c;
    const number = next(block);
    if (number === null) return [block];
    return [{ t: 'Header', c: [level, attributes, [{ t: 'Str', c: number }, { t: 'Space' }, ...text]] }];
  });
}

/** Counts as Pandoc does, so that contents and headings agree. */
function counter(): (heading: Heading) => string | null {
  let counts: number[] = [];
  return ({ c: [level, [, classes]] }) => {
    if (classes.includes('unnumbered')) return null;
    counts = Array.from({ length: level }, (_, at) => (counts[at] ?? 0) + (at === level - 1 ? 1 : 0));
    return counts.join('.');
  };
}

function isUnlisted({ c: [, [, classes]] }: Heading): boolean {
  return classes.includes('unlisted') && classes.includes('unnumbered');
}

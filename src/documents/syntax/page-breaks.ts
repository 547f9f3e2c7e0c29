import type { Block, Inline } from './ast.ts';
import { isParagraph } from './text.ts';

/** An empty Div of this class is where a new page begins, in the words of each format (formats/page-breaks.ts). */
export const pageBreakClass = 'page-break';

const command = /^\\(?:newpage|pagebreak|clearpage)$/;

function pageBreak(): Block {
  return { t: 'Div', c: [['', [pageBreakClass], []], []] };
}

/** `\newpage` on a line of its own, with or without text before and after it; `stands` is told of any other. */
export function pageBreaksOf(block: Block, stands: (command: string) => void): Block[] {
  if (!isParagraph(block) || !block.c.some(isBreakCommand)) return [block];
  const { t, c } = block;
  const pieces: Block[] = [];
  let from = 0;
  for (const [at, node] of c.entries()) {
    if (!isBreakCommand(node)) continue;
    if (!endsLine(c[at - 1]) || !endsLine(c[at + 1])) {
      stands(node.c);
      continue;
    }
    pieces.push({ t, c: c.slice(from, Math.max(from, at - 1)) }, pageBreak());
    from = at + 2;
  }
  pieces.push({ t, c: c.slice(from) });
  return pieces.filter((piece) => !isParagraph(piece) || piece.c.length > 0);
}

const isBreakCommand = (node: Inline): node is Extract<Inline, { t: 'Str' }> =>
  node.t === 'Str' && command.test(node.c);
const endsLine = (node: Inline | undefined): boolean =>
  node === undefined || node.t === 'SoftBreak' || node.t === 'LineBreak';

/** What stands in such a Div goes behind it, so that writers can put a break in its place. */
export function emptiedBreaks(block: Block): Block[] {
  if (block.t !== 'Div' || !block.c[0][1].includes(pageBreakClass)) return [block];
  return [pageBreak(), ...block.c[1]];
}

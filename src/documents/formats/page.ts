import type { Layout, Paper } from '../document.ts';

const sizes: Readonly<Record<Paper, readonly [widthMm: number, heightMm: number]>> = {
  a4: [210, 297],
  letter: [215.9, 279.4],
};

/** The page of a layout, in millimetres. */
export function pageOf({ paper, marginMm }: Layout): { width: number; height: number; margin: number } {
  const [width, height] = sizes[paper];
  return { width, height, margin: marginMm };
}

/** The size of text that Pandoc's own documents are made for. */
const USUAL_PT = 12;

/** By how much all sizes of text grow or shrink. */
export function textScale({ fontSizePt }: Layout): number {
  return fontSizePt / USUAL_PT;
}

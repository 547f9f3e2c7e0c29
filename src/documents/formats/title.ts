import type { Layout } from '../document.ts';
import { isHeading, textOf, type Ast } from './tree.ts';

/** A name for formats that cannot do without one. */
export function titleOf({ title }: Layout, { blocks }: Pick<Ast, 'blocks'>): string {
  if (title !== null && title.trim() !== '') return title;
  const heading = blocks.find(isHeading);
  return (heading && textOf(heading.c[2]).trim()) || 'Document';
}

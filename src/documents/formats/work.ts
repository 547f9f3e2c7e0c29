import type { Prepared } from '../document.ts';
import type { Pandoc } from '../pandoc/pandoc.ts';
import type { Typst } from '../typst/typst.ts';

export interface Engines {
  readonly pandoc: Pandoc;
  readonly typst: Typst;
}

/** What it takes to write one format. */
export interface Work {
  readonly prepared: Prepared;
  readonly engines: Engines;
  readonly signal: AbortSignal;
}

export interface Result {
  readonly bytes: Uint8Array;
  readonly warnings: readonly string[];
}

/** The pictures as files that an engine may read. */
export function filesOf(pictures: Prepared['pictures']): Record<string, Uint8Array> {
  return Object.fromEntries(pictures.map(({ name, bytes }) => [name, bytes]));
}

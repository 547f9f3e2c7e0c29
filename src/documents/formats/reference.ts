import type { Layout } from '../document.ts';
import type { Pandoc } from '../pandoc/pandoc.ts';
import { pack, unpack, type Part } from './archive.ts';
import { changeDocx } from './docx-reference.ts';
import { changeOdt } from './odt-reference.ts';

/** How the document is to look beyond its layout. */
export interface Look extends Layout {
  /** Whether the second line of a reference is indented. */
  readonly hangingReferences: boolean;
}

type Kind = 'docx' | 'odt';

const changes: Readonly<Record<Kind, (parts: readonly Part[], look: Look) => readonly Part[]>> = {
  docx: changeDocx,
  odt: changeOdt,
};

/** What each Pandoc writes for an empty document: it is the same every time. */
const empties = new WeakMap<Pandoc, Map<Kind, readonly Part[]>>();

/**
 * A reference document with the paper, the margins and the size of text that are wanted, for which Pandoc has no
 * options. It is made of Pandoc's own, which it gives when it is asked for a document without content.
 */
export async function referenceDocument(
  kind: Kind,
  look: Look,
  pandoc: Pandoc,
  signal: AbortSignal,
): Promise<Uint8Array> {
  return pack(changes[kind](await emptyParts(kind, pandoc, signal), look));
}

async function emptyParts(kind: Kind, pandoc: Pandoc, signal: AbortSignal): Promise<readonly Part[]> {
  const known = empties.get(pandoc) ?? new Map<Kind, readonly Part[]>();
  empties.set(pandoc, known);
  const found = known.get(kind);
  if (found !== undefined) return found;
  const options = { from: 'markdown', to: kind, standalone: true };
  const { output } = await pandoc.convert({ options, input: '' }, signal);
  const parts = await unpack(output, signal);
  known.set(kind, parts);
  return parts;
}

import type { ToolContext } from '../../mcp/tool.ts';
import type { Rung } from '../client-file.ts';
import type { From } from '../policy/policy.ts';
import type { Came } from './awaited.ts';
import type { Errand } from './errand.ts';
import type { Subject } from './question.ts';

/** How something came, and what was said of it. */
export interface Source {
  readonly rung: Rung;
  /** From where on the paths of a listing are told. */
  readonly from: From;
  readonly size: number | null;
  readonly sha256: string | null;
  /** Of what was typed: it is text, and in no other. */
  readonly encoding: string | null;
  /** Where it came as a stored file, which goes unless it is kept. */
  readonly stored: Pick<Came, 'file' | 'keep'> | null;
}

/** What is done with that which came. It gets it once. */
export type Use<T> = (chunks: AsyncIterable<Uint8Array>, source: Source) => Promise<T>;

/** How an answer is had: from what came, or from another call that had it meanwhile. */
export interface Taking<T> {
  readonly use: Use<T>;
  readonly meanwhile: () => T | null;
}

/** An errand and the call that it is run for. */
export interface Trip {
  readonly errand: Errand;
  readonly subject: Subject;
  readonly context: ToolContext;
}

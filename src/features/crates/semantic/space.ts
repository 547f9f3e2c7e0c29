import type { Allowed, Ranked } from '../index/ranking.ts';

/** The vectors of all documents, as far as they are held in memory, for finding those near to another. */
export interface Space {
  readonly documents: number;
  /** What it holds in memory, about. */
  readonly bytes: number;
  /** False where there is no room for it. */
  put(document: number, tie: number, vector: Float32Array): boolean;
  remove(document: number): void;
  /** Best first, none that points away. Ties by `tie`, then by number. */
  nearest(vector: Float32Array, most: number, allowed: Allowed): Promise<Ranked[]>;
  vectors(documents: readonly number[]): Promise<ReadonlyMap<number, Float32Array>>;
  /** Everything in it, where it is all in memory. */
  all?(): Iterable<{ document: number; tie: number; vector: Float32Array }>;
}

/** A document with what decides between equal scores: a number that is the same for it on every machine. */
export interface Near extends Ranked {
  readonly tie: number;
}

export const nearer = (a: Near, b: Near): number =>
  b.score - a.score || a.tie - b.tie || a.document - b.document;

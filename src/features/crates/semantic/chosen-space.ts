import type { Database } from '../../../ports/database/database.ts';
import { bitSpace } from './bit-space.ts';
import { exactSpace } from './exact-space.ts';
import type { Space } from './space.ts';
import { countVectors, vectorsOf } from './vectors.ts';

export interface SpaceLimits {
  /** Up to here every vector is held in memory; beyond, its bits. */
  readonly exactDocuments: number;
  readonly exactBytes: number;
  readonly bitBytes: number;
  /** How many are looked at closely after the bits have chosen. Always as many, or pages would not fit together. */
  readonly candidates: number;
}

export const spaceLimits: SpaceLimits = {
  exactDocuments: 20_000,
  exactBytes: 64 * 1024 * 1024,
  bitBytes: 256 * 1024 * 1024,
  candidates: 500,
};

/** A space that suits its size: exact while it is small, by bits once it has outgrown that. */
export interface ChosenSpace extends Pick<Space, 'remove' | 'nearest' | 'vectors'> {
  readonly dimensions: number;
  readonly documents: number;
  readonly bytes: number;
  /** How many found no room, or are of another dimension. */
  readonly leftOut: number;
  put(document: number, tie: number, vector: Float32Array): void;
}

export async function chosenSpace(
  database: Database,
  model: number,
  dimensions: number,
  limits: SpaceLimits,
): Promise<ChosenSpace> {
  const mostExact = Math.min(limits.exactDocuments, Math.floor(limits.exactBytes / (dimensions * 4)));
  const bits = (): Space => bitSpace(dimensions, limits, (some) => vectorsOf(database, model, some));
  const { documents } = await countVectors(database, model);
  let space = documents <= mostExact ? exactSpace(dimensions, mostExact) : bits();
  let leftOut = 0;

  function putOrMove(document: number, tie: number, vector: Float32Array): boolean {
    if (vector.length !== dimensions) return false;
    if (space.put(document, tie, vector)) return true;
    const all = space.all?.();
    if (all === undefined) return false;
    space = bits();
    for (const one of all) space.put(one.document, one.tie, one.vector);
    return space.put(document, tie, vector);
  }

  return {
    dimensions,
    get documents() {
      return space.documents;
    },
    get bytes() {
      return space.bytes;
    },
    get leftOut() {
      return leftOut;
    },
    put(document, tie, vector) {
      if (!putOrMove(document, tie, vector)) leftOut++;
    },
    remove: (document) => space.remove(document),
    nearest: (vector, most, allowed) => space.nearest(vector, most, allowed),
    vectors: (some) => space.vectors(some),
  };
}

import type { Allowed, Ranked } from '../index/ranking.ts';
import { isZero, product } from './embedder.ts';
import { bitsApart, signBits } from './sign-bits.ts';
import { createSlots } from './slots.ts';
import { nearer, type Near, type Space } from './space.ts';

type Load = (documents: readonly number[]) => Promise<ReadonlyMap<number, Float32Array>>;

/**
 * Bits in memory for a first choice, which is then looked at closely with the vectors from the database. It finds
 * nearly all that the exact way does.
 */
export function bitSpace(
  dimensions: number,
  { bitBytes, candidates }: { readonly bitBytes: number; readonly candidates: number },
  load: Load,
): Space {
  const bits = signBits(dimensions);
  // Two numbers and a place in a map stand beside the bits of each document.
  const most = Math.floor(bitBytes / (bits.words * 4 + 60));
  const slots = createSlots(bits.words, most, (length) => new Uint32Array(length));

  /** The places with the fewest bits apart that may be found. Who comes in at the edge is told by ties, not by who was first. */
  function closest(vector: Float32Array, allowed: Allowed): number[] {
    const chosen: number[] = [];
    for (const ring of ringsAround(vector)) {
      const may = ring.filter((slot) => allowed(slots.documentAt(slot)));
      const room = candidates - chosen.length;
      chosen.push(...(may.length <= room ? may : may.toSorted(byTie).subarray(0, room)));
      if (chosen.length >= candidates) break;
    }
    return chosen;
  }

  const byTie = (a: number, b: number): number =>
    slots.tieAt(a) - slots.tieAt(b) || slots.documentAt(a) - slots.documentAt(b);

  /** All places by how many bits apart they are, sorted by counting. */
  function* ringsAround(vector: Float32Array): Generator<Uint32Array> {
    const target = new Uint32Array(bits.words);
    bits.write(vector, target, 0);
    const { values, size } = slots;
    const apart = new Uint16Array(size);
    const starts = new Uint32Array(bits.words * 32 + 2);
    for (let slot = 0; slot < size; slot++) {
      apart[slot] = bitsApart(values, slot * bits.words, target);
      starts[apart[slot]! + 1]!++;
    }
    for (let at = 1; at < starts.length; at++) starts[at]! += starts[at - 1]!;
    const filled = starts.slice();
    const sorted = new Uint32Array(size);
    for (let slot = 0; slot < size; slot++) sorted[filled[apart[slot]!]!++] = slot;
    for (let at = 0; at <= bits.words * 32; at++) yield sorted.subarray(starts[at], starts[at + 1]);
  }

  async function nearest(vector: Float32Array, most: number, allowed: Allowed): Promise<Ranked[]> {
    const chosen = closest(vector, allowed).map((slot) => ({
      document: slots.documentAt(slot),
      tie: slots.tieAt(slot),
    }));
    const vectors = await load(chosen.map(({ document }) => document));
    const near = chosen.flatMap(({ document, tie }): Near[] => {
      const own = vectors.get(document);
      return own?.length === vector.length ? [{ document, tie, score: product(own, 0, vector) }] : [];
    });
    const ordered = near.filter(({ score }) => score > 0).toSorted(nearer);
    return ordered.slice(0, most).map(({ document, score }) => ({ document, score }));
  }

  return {
    get documents() {
      return slots.size;
    },
    get bytes() {
      return slots.bytes;
    },
    put(document, tie, vector) {
      // Zeros would have bits too, and be near to something.
      if (isZero(vector)) {
        slots.remove(document);
        return true;
      }
      const slot = slots.claim(document, tie);
      if (slot !== null) bits.write(vector, slots.values, slot * bits.words);
      return slot !== null;
    },
    remove: (document) => slots.remove(document),
    nearest,
    vectors: load,
  };
}

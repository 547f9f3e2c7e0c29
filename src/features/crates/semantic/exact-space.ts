import type { Allowed } from '../index/ranking.ts';
import { best } from './best.ts';
import { product } from './embedder.ts';
import { createSlots } from './slots.ts';
import { nearer, type Near, type Space } from './space.ts';

/** Every vector in memory, and every one looked at: exact, and fast enough for some ten thousand. */
export function exactSpace(dimensions: number, most: number): Space {
  const slots = createSlots(dimensions, most, (length) => new Float32Array(length));

  function nearest(vector: Float32Array, most: number, allowed: Allowed): Near[] {
    const found = best<Near>(most, nearer);
    const { values, size } = slots;
    let least = 0;
    for (let slot = 0; slot < size; slot++) {
      const score = product(values, slot * dimensions, vector);
      if (score <= 0 || score < least) continue;
      const document = slots.documentAt(slot);
      if (!allowed(document)) continue;
      found.add({ document, score, tie: slots.tieAt(slot) });
      least = found.worst()?.score ?? 0;
    }
    return found.ordered();
  }

  const vectorAt = (slot: number): Float32Array =>
    slots.values.slice(slot * dimensions, (slot + 1) * dimensions);

  return {
    get documents() {
      return slots.size;
    },
    get bytes() {
      return slots.bytes;
    },
    put(document, tie, vector) {
      const slot = slots.claim(document, tie);
      if (slot !== null) slots.values.set(vector, slot * dimensions);
      return slot !== null;
    },
    remove: (document) => slots.remove(document),
    nearest: async (vector, most, allowed) =>
      nearest(vector, most, allowed).map(({ document, score }) => ({ document, score })),
    async vectors(documents) {
      const found = new Map<number, Float32Array>();
      for (const document of documents) {
        const slot = slots.slotOf(document);
        if (slot !== null) found.set(document, vectorAt(slot));
      }
      return found;
    },
    *all() {
      for (let slot = 0; slot < slots.size; slot++)
        yield { document: slots.documentAt(slot), tie: slots.tieAt(slot), vector: vectorAt(slot) };
    },
  };
}

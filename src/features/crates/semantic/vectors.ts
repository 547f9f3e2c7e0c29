/**
 * Vectors: of length 1, stored with a byte for each dimension, and all of them in memory to find the nearest. It makes
 * none and knows no texts.
 */
import type { LocalIndex } from '../index/local-index.ts';
import type { Allowed, Ranked } from '../index/ranking.ts';
import type { Log } from '../../../platform/observability/log.ts';

/** Of length 1; zeros stay zeros. */
export function normalizeVector(values: ArrayLike<number>): Float32Array {
  const unit = new Float32Array(values.length);
  let squares = 0;
  for (let at = 0; at < values.length; at++) squares += values[at]! * values[at]!;
  const length = Math.sqrt(squares);
  if (length === 0) return unit;
  for (let at = 0; at < values.length; at++) unit[at] = values[at]! / length;
  return unit;
}

export const isZeroVector = (vector: Float32Array): boolean => vector.every((value) => value === 0);

/** A byte for each dimension, as shares of the largest: cosines change by less than a hundredth. */
export function packVector(vector: Float32Array): Uint8Array {
  const largest = vector.reduce((max, value) => Math.max(max, Math.abs(value)), 0) || 1;
  return new Uint8Array(Int8Array.from(vector, (value) => Math.round((value / largest) * 127)).buffer);
}

export interface VectorSpace {
  readonly dimensions: number;
  /** The nearest first; what is not nearer than chance is left out. */
  findNearest(vector: Float32Array, most: number, allowed: Allowed): Ranked[];
  /** The vectors of documents, of length 1. */
  read(documents: readonly number[]): Map<number, Float32Array>;
}

/** Beyond it, documents are found by words alone. */
const maxSpaceBytes = 384 * 1024 ** 2;

/** Gives the vectors of the index as they are now; null while there are none. */
export function createVectorSpace(local: LocalIndex, log: Log): () => VectorSpace | null {
  let [epoch, last, size, dimensions] = ['', 0, 0, 0];
  let values = new Int8Array(0);
  let documents = new Uint32Array(0);
  let lengths = new Float32Array(0);
  let sortKeys = new Float64Array(0);
  const slots = new Map<number, number>();

  function grow(): void {
    const capacity = Math.max(1024, documents.length * 2);
    const [oldValues, oldDocuments, oldLengths, oldKeys] = [values, documents, lengths, sortKeys];
    (values = new Int8Array(capacity * dimensions)).set(oldValues);
    (documents = new Uint32Array(capacity)).set(oldDocuments);
    (lengths = new Float32Array(capacity)).set(oldLengths);
    (sortKeys = new Float64Array(capacity)).set(oldKeys);
  }

  function put(document: number, sortKey: number, bytes: Uint8Array): void {
    if (dimensions === 0) dimensions = bytes.length;
    if (bytes.length !== dimensions || bytes.length * (size + 1) > maxSpaceBytes) return;
    if (size === documents.length) grow();
    const vector = new Int8Array(bytes.buffer, bytes.byteOffset, bytes.length);
    values.set(vector, size * dimensions);
    documents[size] = document;
    sortKeys[size] = sortKey;
    lengths[size] = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
    slots.set(document, size++);
    if (dimensions * (size + 1) > maxSpaceBytes) log.warn('crates.meaning_full', { documents: size });
  }

  function refresh(): void {
    const now = local.readEpoch();
    if (now !== epoch) {
      [epoch, last, size, dimensions] = [now, 0, 0, 0];
      [values, documents, lengths, sortKeys] = [
        new Int8Array(0),
        new Uint32Array(0),
        new Float32Array(0),
        new Float64Array(0),
      ];
      slots.clear();
    }
    const sql = `SELECT document, sort_key, vector FROM vectors JOIN documents USING (document)
      WHERE document > ? ORDER BY document`;
    for (const row of local.prepare(sql).iterate(last) as Iterable<unknown> as Iterable<
      [number, number, Uint8Array]
    >) {
      put(...row);
      last = row[0];
    }
  }

  function findNearest(vector: Float32Array, most: number, allowed: Allowed): Ranked[] {
    // Most dimensions of a query are 0.
    const dims = Array.from(vector.keys()).filter((at) => vector[at] !== 0);
    const factors = dims.map((at) => vector[at]!);
    let found: (Ranked & { readonly sortKey: number })[] = [];
    let least = 0;
    const cut = (): void => {
      found = found.sort((a, b) => b.score - a.score || a.sortKey - b.sortKey).slice(0, most);
      if (found.length === most) least = found.at(-1)?.score ?? 0;
    };
    for (let slot = 0; slot < size; slot++) {
      let sum = 0;
      const start = slot * dimensions;
      for (let at = 0; at < dims.length; at++) sum += factors[at]! * values[start + dims[at]!]!;
      const score = sum / lengths[slot]!;
      if (!(score > 0) || score < least || !allowed(documents[slot]!)) continue;
      found.push({ document: documents[slot]!, score, sortKey: sortKeys[slot]! });
      if (found.length >= most * 2 + 64) cut();
    }
    cut();
    return found.map(({ document, score }) => ({ document, score }));
  }

  function read(some: readonly number[]): Map<number, Float32Array> {
    const found = new Map<number, Float32Array>();
    for (const document of some) {
      const slot = slots.get(document);
      if (slot === undefined) continue;
      found.set(document, normalizeVector(values.subarray(slot * dimensions, (slot + 1) * dimensions)));
    }
    return found;
  }

  return () => {
    local.read(refresh);
    return size === 0 ? null : { dimensions, findNearest, read };
  };
}

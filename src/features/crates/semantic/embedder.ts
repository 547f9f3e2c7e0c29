/** Gives texts their places in a space, where what means the same is near. */
export interface Embedder {
  /** Vectors of length 1, or of zeros where nothing is known of the text, all of the same dimension. */
  documents(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]>;
  query(text: string): Promise<Float32Array>;
  /** How much it tells that a text has this word; 0 for words to leave aside. */
  rarity(stem: string): number;
  /** Whether even unrelated texts have a high cosine, as with most models of language. */
  readonly isSkewed: boolean;
}

/** Of length 1. Zeros, and what only rounding has left, become zeros. */
export function normalised(values: ArrayLike<number>, least = 0): Float32Array<ArrayBuffer> {
  const unit = new Float32Array(values.length);
  let squares = 0;
  for (let at = 0; at < values.length; at++) squares += values[at]! * values[at]!;
  const length = Math.sqrt(squares);
  if (length <= least) return unit;
  for (let at = 0; at < values.length; at++) unit[at] = values[at]! / length;
  return unit;
}

/** Sums are in order and in 64 bits, so that they are the same everywhere. */
export function product(a: Float32Array, aStart: number, b: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < b.length; at++) sum += a[aStart + at]! * b[at]!;
  return sum;
}

export const isZero = (vector: Float32Array): boolean => vector.every((value) => value === 0);

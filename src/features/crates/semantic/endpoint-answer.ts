const mostDimensions = 16_384;
/** Vectors are about of length 1. Far larger numbers are no vector, and their squares overflow. */
const largest = 1e6;

interface Item {
  readonly index?: unknown;
  readonly embedding?: unknown;
}

/** The vectors in the order of the texts, or what is wrong with the answer. Nothing in it is trusted. */
export function judged(body: string, texts: number): number[][] | string {
  const data = dataOf(body);
  if (data === null) return 'its answer is not the JSON of an embeddings API';
  if (data.length !== texts) return `it gave ${data.length} vectors for ${texts} texts`;
  const ordered = inOrder(data);
  if (ordered === null) return 'it numbered its vectors wrongly';
  const vectors = ordered.map(({ embedding }) => embedding);
  if (!vectors.every(isVector)) return 'a vector of it is no list of plain numbers';
  const dimensions = vectors[0]?.length ?? 0;
  if (vectors.some((vector) => vector.length !== dimensions)) return 'its vectors differ in length';
  return vectors;
}

function dataOf(body: string): Item[] | null {
  try {
    const { data } = JSON.parse(body) as { data?: unknown };
    return Array.isArray(data) && data.every(isItem) ? data : null;
  } catch {
    // No JSON, or null instead of an object.
    return null;
  }
}

const isItem = (item: unknown): item is Item => typeof item === 'object' && item !== null;

/** By `index` where it is given, each once; some servers leave it out and keep the order. */
function inOrder(data: readonly Item[]): readonly Item[] | null {
  if (data.every(({ index }) => index === undefined)) return data;
  const ordered = new Map(data.map((item) => [item.index, item]));
  const found = data.map((_, at) => ordered.get(at));
  return found.every((item) => item !== undefined) ? found : null;
}

function isVector(value: unknown): value is number[] {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.length <= mostDimensions &&
    value.every((number) => typeof number === 'number' && Math.abs(number) <= largest)
  );
}

/** Where each document stands in arrays that grow. The last one takes the place of one that is removed. */
export interface Slots<T extends Float32Array | Uint32Array> {
  readonly size: number;
  readonly bytes: number;
  /** Of all, `width` numbers each, valid until the next `claim`. */
  readonly values: T;
  documentAt(slot: number): number;
  tieAt(slot: number): number;
  slotOf(document: number): number | null;
  /** A place for the document, its own where it has one; null where there is no room. */
  claim(document: number, tie: number): number | null;
  remove(document: number): void;
}

/** What the map from documents to places takes for each, about. */
const mapBytes = 40;

export function createSlots<T extends Float32Array | Uint32Array>(
  width: number,
  most: number,
  create: (length: number) => T,
): Slots<T> {
  const places = new Map<number, number>();
  let documents = new Float64Array(0);
  let ties = new Float64Array(0);
  let values = create(0);

  /** By half, so that growing costs little in all and leaves little unused. */
  function grow(): void {
    const room = Math.min(most, Math.max(64, Math.ceil(documents.length * 1.5)));
    documents = copyNumbers(documents, new Float64Array(room));
    ties = copyNumbers(ties, new Float64Array(room));
    values = copyNumbers(values, create(room * width));
  }

  function claim(document: number, tie: number): number | null {
    const slot = places.get(document) ?? places.size;
    if (slot >= most) return null;
    if (slot >= documents.length) grow();
    places.set(document, slot);
    documents[slot] = document;
    ties[slot] = tie;
    return slot;
  }

  function remove(document: number): void {
    const slot = places.get(document);
    if (slot === undefined) return;
    const last = places.size - 1;
    places.delete(document);
    if (slot === last) return;
    documents[slot] = documents[last]!;
    ties[slot] = ties[last]!;
    values.copyWithin(slot * width, last * width, (last + 1) * width);
    places.set(documents[slot], slot);
  }

  return {
    get size() {
      return places.size;
    },
    get bytes() {
      return documents.byteLength + ties.byteLength + values.byteLength + mapBytes * places.size;
    },
    get values() {
      return values;
    },
    documentAt: (slot) => documents[slot]!,
    tieAt: (slot) => ties[slot]!,
    slotOf: (document) => places.get(document) ?? null,
    claim,
    remove,
  };
}

function copyNumbers<T extends Float32Array | Float64Array | Uint32Array>(from: T, to: T): T {
  to.set(from);
  return to;
}

/** Keeps the best of many, as a heap with the worst of them at its root. */
export interface Best<T> {
  add(item: T): void;
  /** The one that gives way next; null while there is room. */
  worst(): T | null;
  /** Best first. */
  ordered(): T[];
}

/** `compare` is below 0 where the first is better; no two are equal. */
export function best<T>(most: number, compare: (a: T, b: T) => number): Best<T> {
  const heap: T[] = [];

  function up(from: number): void {
    for (let at = from; at > 0;) {
      const parent = (at - 1) >> 1;
      if (compare(heap[at]!, heap[parent]!) <= 0) return;
      swap(at, parent);
      at = parent;
    }
  }

  function down(): void {
    for (let at = 0; ;) {
      const left = 2 * at + 1;
      if (left >= heap.length) return;
      const right = left + 1;
      const worse = right < heap.length && compare(heap[right]!, heap[left]!) > 0 ? right : left;
      if (compare(heap[at]!, heap[worse]!) >= 0) return;
      swap(at, worse);
      at = worse;
    }
  }

  function swap(a: number, b: number): void {
    [heap[a], heap[b]] = [heap[b]!, heap[a]!];
  }

  return {
    add(item) {
      if (heap.length < most) up(heap.push(item) - 1);
      else if (most > 0 && compare(item, heap[0]!) < 0) {
        heap[0] = item;
        down();
      }
    },
    worst: () => (heap.length < most ? null : (heap[0] ?? null)),
    ordered: () => heap.toSorted(compare),
  };
}

/**
 * A map that never holds more than it may: beyond so many entries, or so much weight, the oldest are evicted. An entry
 * is young again when it is set or used, so that it is an LRU cache for whoever calls `use`.
 * It knows no expiry by time, and takes no sides between users (`features/client-files/cache/` does).
 */

export interface BoundedMapOptions<K, V> {
  readonly mostEntries?: number;
  /** Of all entries together, in what `weigh` gives, such as bytes. */
  readonly mostWeight?: number;
  /** Has to give the same for as long as the entry is in the map. */
  readonly weigh?: (value: V, key: K) => number;
  /** What is heavier is not kept at all: it would drive out too many others. */
  readonly heaviest?: number;
  /** `clear`: where one more entry would be too many, all go at once, which costs less than the oldest each time. */
  readonly whenFull?: 'evict' | 'clear';
  /** Told of each entry that had to go, after it went; not of those that were deleted or replaced. */
  readonly onEvict?: (value: V, key: K) => void;
}

export class BoundedMap<K, V> {
  readonly #entries = new Map<K, V>();
  readonly #options: BoundedMapOptions<K, V>;
  readonly #mostEntries: number;
  readonly #mostWeight: number;
  #weight = 0;

  constructor(options: BoundedMapOptions<K, V>) {
    this.#options = options;
    this.#mostEntries = options.mostEntries ?? Infinity;
    this.#mostWeight = options.mostWeight ?? Infinity;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Of all entries together. */
  get weight(): number {
    return this.#weight;
  }

  has(key: K): boolean {
    return this.#entries.has(key);
  }

  /** Without making it young again. */
  get(key: K): V | undefined {
    return this.#entries.get(key);
  }

  /** Gets it and makes it young again. */
  use(key: K): V | undefined {
    const value = this.#entries.get(key);
    if (value === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  /** It is the youngest then, even if it was there before. */
  set(key: K, value: V): void {
    this.delete(key);
    if (this.#options.whenFull === 'clear' && this.#entries.size >= this.#mostEntries) this.clear();
    const { weigh } = this.#options;
    if (weigh !== undefined) {
      const weight = weigh(value, key);
      if (weight > (this.#options.heaviest ?? this.#mostWeight)) return;
      this.#weight += weight;
    }
    this.#entries.set(key, value);
    if (this.#isTooMuch()) this.#evict();
  }

  /** Whether it was there. */
  delete(key: K): boolean {
    const { weigh } = this.#options;
    if (weigh === undefined) return this.#entries.delete(key);
    const value = this.#entries.get(key);
    if (!this.#entries.delete(key)) return false;
    this.#weight -= weigh(value!, key);
    return true;
  }

  /** Removes all entries without calling `onEvict`. */
  clear(): void {
    this.#entries.clear();
    this.#weight = 0;
  }

  /** Evicts all, the oldest first. */
  evictAll(): void {
    for (const key of this.#entries.keys()) this.#evictOne(key);
  }

  /** The oldest first. */
  keys(): MapIterator<K> {
    return this.#entries.keys();
  }

  values(): MapIterator<V> {
    return this.#entries.values();
  }

  [Symbol.iterator](): MapIterator<[K, V]> {
    return this.#entries[Symbol.iterator]();
  }

  #isTooMuch(): boolean {
    return this.#entries.size > this.#mostEntries || this.#weight > this.#mostWeight;
  }

  #evict(): void {
    for (const key of this.#entries.keys()) {
      this.#evictOne(key);
      if (!this.#isTooMuch()) return;
    }
  }

  #evictOne(key: K): void {
    const value = this.#entries.get(key)!;
    this.delete(key);
    this.#options.onEvict?.(value, key);
  }
}

/** Remembers what `make` gave for each key, the oldest forgotten first beyond `most`. */
export function memoize<K, V>(most: number, make: (key: K) => V): (key: K) => V {
  const known = new BoundedMap<K, V>({ mostEntries: most });
  return (key) => {
    const found = known.get(key);
    if (found !== undefined) return found;
    const made = make(key);
    known.set(key, made);
    return made;
  };
}

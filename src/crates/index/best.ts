import { sortKeyBytes } from './columns.ts';
import type { Visible } from './visible.ts';

/** A document that was found: its segment's place in the view and its own in the segment. */
export interface Hit {
  readonly segment: number;
  readonly at: number;
  /** Documents of a higher tier come first, whatever the score. */
  readonly tier: number;
  readonly score: number;
  /** The fields that words were found in, a bit for each. */
  readonly fields: number;
}

/** Keeps the best of many, in the end best first. Equal ones are ordered by their sort keys. */
export class Best {
  readonly #visible: Visible;
  readonly #most: number;
  /** A heap: the worst of those kept is the first. */
  readonly #heap: Hit[] = [];

  constructor(visible: Visible, most: number) {
    this.#visible = visible;
    this.#most = most;
  }

  add(segment: number, at: number, tier: number, score: number, fields = 0): void {
    const heap = this.#heap;
    if (this.#most === 0) return;
    if (heap.length < this.#most) {
      heap.push({ segment, at, tier, score, fields });
      this.#rise();
      return;
    }
    const worst = heap[0]!;
    if (tier < worst.tier || (tier === worst.tier && score < worst.score)) return;
    const hit = { segment, at, tier, score, fields };
    if (this.#compare(hit, worst) > 0) return;
    heap[0] = hit;
    this.#sink();
  }

  sorted(): Hit[] {
    return this.#heap.toSorted((one, other) => this.#compare(one, other));
  }

  /** Negative where `one` is better. */
  #compare(one: Hit, other: Hit): number {
    if (one.tier !== other.tier) return other.tier - one.tier;
    if (one.score !== other.score) return one.score > other.score ? -1 : 1;
    return compareKeys(this.#visible, one, other);
  }

  #rise(): void {
    const heap = this.#heap;
    for (let at = heap.length - 1; at > 0;) {
      const parent = (at - 1) >> 1;
      if (this.#compare(heap[at]!, heap[parent]!) <= 0) return;
      [heap[at], heap[parent]] = [heap[parent]!, heap[at]!];
      at = parent;
    }
  }

  #sink(): void {
    const heap = this.#heap;
    for (let at = 0; ;) {
      let worst = at;
      for (const child of [2 * at + 1, 2 * at + 2])
        if (child < heap.length && this.#compare(heap[child]!, heap[worst]!) > 0) worst = child;
      if (worst === at) return;
      [heap[at], heap[worst]] = [heap[worst]!, heap[at]!];
      at = worst;
    }
  }
}

interface Placed {
  readonly segment: number;
  readonly at: number;
}

/** By sort keys; most differ in what is at hand as a number. */
export function compareKeys({ segments }: Visible, one: Placed, other: Placed): number {
  const [mine, theirs] = [segments[one.segment]!.of.columns, segments[other.segment]!.of.columns];
  const difference = mine.sortNumbers[one.at]! - theirs.sortNumbers[other.at]!;
  if (difference !== 0) return difference;
  return Buffer.compare(keyAt(mine.sortKeys, one.at), keyAt(theirs.sortKeys, other.at));
}

const keyAt = (keys: Uint8Array, at: number): Uint8Array =>
  keys.subarray(at * sortKeyBytes, (at + 1) * sortKeyBytes);

import { Fault } from './faults.ts';
import type { Held } from './footing.ts';
import { mostFolders } from './names.ts';

/** The things that a walk has passed, from the root to where it stands. Holds them all until disposed of. */
export class Trail implements Disposable {
  readonly #root: Held;
  readonly #steps: Held[] = [];

  constructor(root: Held) {
    this.#root = root;
  }

  get end(): Held {
    return this.#steps.at(-1) ?? this.#root;
  }

  step(next: Held): void {
    this.#steps.push(next);
    if (this.#steps.length > mostFolders) throw new Fault('too_deep');
  }

  /** One step back. There is none from the root, whatever lies above it. */
  back(): void {
    const last = this.#steps.pop();
    if (last === undefined) throw new Fault('link');
    last[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    for (const held of this.#steps.splice(0)) held[Symbol.dispose]();
    this.#root[Symbol.dispose]();
  }
}

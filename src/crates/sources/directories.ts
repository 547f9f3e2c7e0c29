import { BoundedMap } from '../../concurrency/bounded-map.ts';
import type { OpenSourceObject, Source } from '../../storage/source.ts';
import { MOST_DIRECTORY_BYTES, readZipDirectory, type ZipDirectory } from '../../unzip/unzip.ts';
import { createMemory, type Share } from './memory.ts';
import { layoutOf, type Layout } from './zip-layout.ts';

interface Known {
  readonly directory: ZipDirectory;
  readonly layout: Layout;
}

/** In use until it is disposed. */
export interface KnownInUse extends Known, Disposable {}

interface Limits {
  /** Of all that are kept for the next time. A larger one is not kept at all. */
  readonly keptBytes: number;
  readonly kept: number;
  /** Of those that are read and in use at a time, beside the small ones. */
  readonly usedBytes: number;
  readonly smallBytes: number;
}

const mebibyte = 1024 * 1024;
const usual: Limits = {
  keptBytes: 64 * mebibyte,
  kept: 64,
  usedBytes: MOST_DIRECTORY_BYTES,
  smallBytes: mebibyte,
};

/** What archives hold: to list one and then to read from it takes its directory once. */
export function createDirectories({ keptBytes, kept: mostKept, usedBytes, smallBytes }: Limits = usual) {
  const memory = createMemory({ bytes: usedBytes, small: smallBytes, mostWaiting: 1000, mostMs: 300_000 });
  /** Those used last, at the end. The stamp in the key is what keeps them right. */
  const kept = new BoundedMap<string, Known>({
    mostEntries: mostKept,
    mostWeight: keptBytes,
    weigh: ({ directory }) => directory.heldBytes,
  });
  const keyOf = keysOfSources();

  async function read(object: OpenSourceObject, signal?: AbortSignal): Promise<KnownInUse> {
    using held = new DisposableStack();
    const shares: Share[] = [];
    const reserve = async (bytes: number): Promise<void> =>
      void shares.push(held.use(await memory.take(bytes, signal)));
    const directory = await readZipDirectory(object, { reserve, ...(signal && { signal }) });
    for (const share of shares) share.shrinkTo(directory.heldBytes);
    const layout = await layoutOf(directory, signal);
    const moved = held.move();
    return { directory, layout, [Symbol.dispose]: () => moved.dispose() };
  }

  /** It may be dropped from what is kept while it is in use, and so is counted like one that was read. */
  async function used(known: Known, signal?: AbortSignal): Promise<KnownInUse> {
    const share = await memory.take(known.directory.heldBytes, signal);
    return { ...known, [Symbol.dispose]: () => share[Symbol.dispose]() };
  }

  return {
    memory,
    async of(source: Source, object: OpenSourceObject, signal?: AbortSignal): Promise<KnownInUse> {
      const key = keyOf(source, object);
      const known = kept.get(key);
      const found = known ? await used(known, signal) : await read(object, signal);
      kept.set(key, { directory: found.directory, layout: found.layout });
      return found;
    },
  };
}

/** Two sources may have the same address, and yet be reached by different credentials. */
function keysOfSources() {
  const numbers = new WeakMap<Source, number>();
  let last = 0;
  return (source: Source, { object: { stamp, name } }: OpenSourceObject): string => {
    const number = numbers.get(source) ?? ++last;
    numbers.set(source, number);
    return `${number}\0${stamp}\0${name}`;
  };
}

/** One for all, so that what is bounded is what this process holds. */
export const directories = createDirectories();

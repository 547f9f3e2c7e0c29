import { read, readSync } from 'node:fs';
import { truncated, unreadable } from './failures.ts';

/** Fills `into` from the file at `position`, or throws: a file that ends early is a failure here. */
export type Fill = (file: number, into: Buffer, position: number) => void | Promise<void>;

/** Through the thread pool, so that a slow disk does not hold up other clients. */
export async function fillInBackground(file: number, into: Buffer, position: number): Promise<void> {
  for (let filled = 0; filled < into.length;) {
    const got = await readOnce(file, into, filled, position + filled);
    if (got === 0) throw truncated();
    filled += got;
  }
}

function readOnce(file: number, into: Buffer, offset: number, position: number): Promise<number> {
  return new Promise((resolve, reject) => {
    read(file, into, offset, into.length - offset, position, (error, got) =>
      error ? reject(unreadable(error)) : resolve(got),
    );
  });
}

/** On this thread: a tenth less CPU for a small file in the page cache, and sendfile blocks no less. */
export function fillAtOnce(file: number, into: Buffer, position: number): void {
  for (let filled = 0; filled < into.length;) {
    const got = readOnceNow(file, into, filled, position + filled);
    if (got === 0) throw truncated();
    filled += got;
  }
}

function readOnceNow(file: number, into: Buffer, offset: number, position: number): number {
  try {
    return readSync(file, into, offset, into.length - offset, position);
  } catch (error) {
    throw unreadable(error);
  }
}

import { WorkcrateError } from '../../platform/errors.ts';
import type { OpenSourceObject, Source, SourceObject } from '../../ports/storage/source.ts';
import { collectBytes } from '../../platform/streams.ts';

/** A source in memory, with what was put into it. */
export function memoryTarget(): Source & { readonly held: ReadonlyMap<string, Buffer> } {
  const held = new Map<string, Buffer>();
  const describe = (name: string): SourceObject => {
    return { name, size: held.get(name)!.length, modified: 0, stamp: '1' };
  };
  return {
    kind: 'folder',
    url: 'file:///memory/',
    held,
    list: async () => ({ objects: [...held.keys()].map(describe), passedOver: 0, next: null }),
    stat: async (name) => (held.has(name) ? describe(name) : null),
    async open(name): Promise<OpenSourceObject | null> {
      const bytes = held.get(name);
      if (bytes === undefined) return null;
      return {
        object: describe(name),
        size: bytes.length,
        descriptor: null,
        async *read(start, end) {
          yield bytes.subarray(start, end);
        },
        async [Symbol.asyncDispose]() {},
      };
    },
    presign: async () => null,
    async put(name, size, bytes) {
      if (held.has(name)) throw new WorkcrateError('already_exists', `There is a ${name}.`);
      const whole = await collectBytes(bytes);
      if (whole.length !== size) throw new WorkcrateError('size_mismatch', 'Not all of it came.');
      held.set(name, whole);
      return describe(name);
    },
    remove: async ({ name }) => void held.delete(name),
    close: async () => {},
  };
}

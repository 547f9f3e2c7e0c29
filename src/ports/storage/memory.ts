/**
 * The backend that keeps everything in memory, for tests and for servers that must leave nothing behind. It is not bounded
 * and does not outlive the process.
 */
import {
  alreadyExistsError,
  offsetConflictError,
  type ObjectPage,
  type OpenObject,
  type Staging,
  type Storage,
  type StoredObject,
} from './storage.ts';

const memoryChunkSize = 64 * 1024;

interface MemoryObject {
  readonly bytes: Uint8Array;
  readonly modified: number;
}

/** Keeps everything in memory: for tests, and for servers that must leave nothing behind. */
export function memoryStorage(): Storage {
  const objects = new Map<string, MemoryObject>();
  const describe = (key: string, held: MemoryObject): StoredObject => ({
    key,
    size: held.bytes.length,
    modified: held.modified,
  });
  return {
    kind: 'memory',
    isShared: false,
    isLasting: false,
    holdsRemoved: true,
    staging: memoryStaging(objects, describe),
    stat: async (key) => (objects.has(key) ? describe(key, objects.get(key)!) : null),
    open: async (key) => (objects.has(key) ? openMemoryObject(objects.get(key)!.bytes) : null),
    list: async (options = {}) => listMemoryPage(objects, describe, options),
    remove: async (key) => void objects.delete(key),
    presign: async () => null,
    probe: async () => {},
    close: async () => {},
  };
}

function memoryStaging(
  objects: Map<string, MemoryObject>,
  describe: (key: string, held: MemoryObject) => StoredObject,
): Staging {
  const staged = new Map<string, Uint8Array[]>();
  const getSize = (id: string): number =>
    (staged.get(id) ?? []).reduce((sum, chunk) => sum + chunk.length, 0);
  return {
    size: async (id) => getSize(id),
    async append(id, offset, bytes, { signal } = {}) {
      const size = getSize(id);
      if (offset !== 0 && offset !== size) throw offsetConflictError(size);
      const chunks = offset === 0 ? [] : staged.get(id)!;
      staged.set(id, chunks);
      for await (const chunk of bytes) {
        signal?.throwIfAborted();
        chunks.push(Uint8Array.from(chunk));
      }
      return getSize(id);
    },
    async commit(id, key) {
      if (objects.has(key)) throw alreadyExistsError(key);
      const held = { bytes: Buffer.concat(staged.get(id) ?? []), modified: Date.now() };
      objects.set(key, held);
      staged.delete(id);
      return describe(key, held);
    },
    discard: async (id) => void staged.delete(id),
    list: async () => [...staged.keys()].map((id) => ({ id, modified: Date.now() })),
  };
}

function openMemoryObject(bytes: Uint8Array): OpenObject {
  return {
    size: bytes.length,
    descriptor: null,
    async *read(start, end, signal) {
      for (let at = start; at < end; at += memoryChunkSize) {
        signal?.throwIfAborted();
        yield bytes.subarray(at, Math.min(end, at + memoryChunkSize));
      }
    },
    [Symbol.asyncDispose]: async () => {},
  };
}

function listMemoryPage(
  objects: ReadonlyMap<string, MemoryObject>,
  describe: (key: string, held: MemoryObject) => StoredObject,
  { prefix = '', after = '', limit = 1000 }: { prefix?: string; after?: string; limit?: number },
): ObjectPage {
  const keys = [...objects.keys()].filter((key) => key.startsWith(prefix) && key > after).sort();
  const some = keys.slice(0, limit).map((key) => describe(key, objects.get(key)!));
  return { objects: some, next: keys.length > limit ? some.at(-1)!.key : null };
}

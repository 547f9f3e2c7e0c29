import type { Staging, Storage } from '../storage/storage.ts';
import type { Tracing } from '../tracing.ts';

/** The same storage, whose calls are told as spans. Bytes that are read later have none: the open object gives them. */
export function seenStorage(storage: Storage, tracing: Tracing): Storage {
  if (!tracing.isOn) return storage;
  const seen = <T>(operation: string, work: () => Promise<T>): Promise<T> =>
    tracing.span(`storage ${operation}`, { 'workcrate.storage': storage.kind }, work);
  return {
    ...storage,
    stat: (key) => seen('stat', () => storage.stat(key)),
    open: (key) => seen('open', () => storage.open(key)),
    list: (options) => seen('list', () => storage.list(options)),
    remove: (key) => seen('remove', () => storage.remove(key)),
    presign: (...terms) => seen('presign', () => storage.presign(...terms)),
    probe: () => seen('probe', () => storage.probe()),
    staging: seenStaging(storage.staging, seen),
  };
}

type Seen = <T>(operation: string, work: () => Promise<T>) => Promise<T>;

function seenStaging(staging: Staging, seen: Seen): Staging {
  return {
    ...staging,
    size: (id) => seen('staging.size', () => staging.size(id)),
    append: (...bytes) => seen('staging.append', () => staging.append(...bytes)),
    commit: (id, key) => seen('staging.commit', () => staging.commit(id, key)),
    discard: (id) => seen('staging.discard', () => staging.discard(id)),
    list: () => seen('staging.list', () => staging.list()),
  };
}

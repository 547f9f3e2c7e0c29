import type { ClientEntry } from '../client-file.ts';

type Type = ClientEntry['type'];

/** As programs call them, among them the letters of find(1). */
const types: ReadonlyMap<unknown, Type> = new Map<unknown, Type>([
  ['file', 'file'],
  ['f', 'file'],
  ['folder', 'folder'],
  ['directory', 'folder'],
  ['dir', 'folder'],
  ['d', 'folder'],
  ['link', 'link'],
  ['symlink', 'link'],
  ['l', 'link'],
]);

/** The last moment that a Date can hold. */
const lastMoment = 8.64e15;

/** A path alone, or something with a path; null for anything else. */
export function pathOf(raw: unknown): string | null {
  const path = typeof raw === 'string' ? raw : fieldOf(raw, 'path');
  return typeof path === 'string' && path !== '' ? path : null;
}

/** What a client told, as far as it can be true. */
export function entryOf(raw: unknown, path: string): ClientEntry {
  const type = typeOf(raw);
  const [size, mtime] = [fieldOf(raw, 'size'), fieldOf(raw, 'mtime')];
  return {
    path,
    type,
    size: type === 'file' && isCount(size) ? size : null,
    mtime: typeof mtime === 'number' && mtime >= 0 && mtime <= lastMoment ? Math.trunc(mtime) : null,
  };
}

/** Where no type is told, a slash at the end tells of a folder. */
function typeOf(raw: unknown): Type {
  const type = fieldOf(raw, 'type') ?? null;
  if (type !== null) return types.get(type) ?? 'other';
  return pathOf(raw)?.endsWith('/') ? 'folder' : 'file';
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

/** Own fields only: what came as JSON has no others. */
function fieldOf(raw: unknown, name: 'path' | 'type' | 'size' | 'mtime'): unknown {
  if (typeof raw !== 'object' || raw === null || !Object.hasOwn(raw, name)) return null;
  return (raw as Record<string, unknown>)[name];
}

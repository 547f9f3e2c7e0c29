import { createHash } from 'node:crypto';
import type { NewCacheEntry } from './cache.ts';

/** A file that was read, of as many bytes or of a text. */
export function fileAt(path: string, content: number | string, mtime: number | null = null): NewCacheEntry {
  const bytes = typeof content === 'number' ? new Uint8Array(content) : new TextEncoder().encode(content);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  return { path, bytes, mtime, sha256, rung: 'upload', encoding: null };
}

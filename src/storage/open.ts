import { diskStorage } from './disk.ts';
import { memoryStorage } from './memory.ts';
import type { Storage } from './storage.ts';

/** Every storage backend there is. */
export async function openStorage(kind: 'disk' | 'memory', directory: string): Promise<Storage> {
  switch (kind) {
    case 'disk':
      return diskStorage(directory);
    case 'memory':
      return memoryStorage();
  }
}

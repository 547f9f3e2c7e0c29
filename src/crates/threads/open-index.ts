import type { Database } from '../../database/database.ts';
import { isDamagedDatabase, openDatabase } from '../../database/open.ts';
import { identifyIndex } from './index-file.ts';
import { indexLost } from './lost-index.ts';

interface Opened<T> {
  readonly file: string | null;
  readonly room: T;
  readonly database: Database;
  users: number;
  isRetired: boolean;
}

/**
 * The index as one thread holds it: opened when it is first used, and anew where its file is another one by now. Work
 * that finds it damaged or deleted fails as `lostIndexOf` tells.
 */
export function holdIndex<T>(location: string, build: (database: Database) => Promise<T>) {
  let opening: Promise<Opened<T>> | null = null;

  async function open(): Promise<Opened<T>> {
    const database = await openDatabase(location, 'crates');
    // Asked once it is open, since opening makes the file.
    return {
      file: identifyIndex(location),
      room: await build(database),
      database,
      users: 0,
      isRetired: false,
    };
  }

  /** Closed once nobody uses it any more. */
  async function retire(opened: Opened<T>): Promise<void> {
    opened.isRetired = true;
    opening = null;
    if (opened.users === 0) await opened.database.close();
  }

  async function current(): Promise<Opened<T>> {
    const before = identifyIndex(location);
    const opened = await (opening ??= open().catch((error: unknown) => {
      opening = null;
      throw isDamagedDatabase(error) ? indexLost(error, before) : error;
    }));
    if (opened.isRetired) return current();
    const now = identifyIndex(location);
    if (now === opened.file) return opened;
    await retire(opened);
    if (now === null) throw indexLost(null, null);
    return current();
  }

  return {
    async use<R>(work: (room: T) => Promise<R>): Promise<R> {
      let opened = await current();
      while (opened.isRetired) opened = await current();
      opened.users++;
      try {
        return await work(opened.room);
      } catch (error) {
        if (!isDamagedDatabase(error)) throw error;
        await retire(opened);
        throw indexLost(error, opened.file);
      } finally {
        if (--opened.users === 0 && opened.isRetired) await opened.database.close();
      }
    },
  };
}

import type { StoredFile } from '../../files/files.ts';
import { createByUser } from './by-user.ts';
import { keyOf } from './errand.ts';
import type { Ladder } from './ladder.ts';
import type { ReadFile } from './reading.ts';
import { demandSame } from './said.ts';
import type { Source, Trip } from './trip.ts';

/** A file that is too large for memory: it is stored, for a while. */
export interface LargeFile extends Omit<ReadFile, 'bytes'> {
  readonly stored: StoredFile;
}

const most = { each: 1000, users: 10_000 };

/** Large files stay where they were sent to, and the next call finds them there. */
export function createLarge({ withdraw }: Pick<Ladder, 'withdraw'>) {
  /** Those that an earlier call was told of. */
  const told = createByUser<true>(most);
  return {
    take({ errand, context }: Trip, { rung, stored }: Source): LargeFile {
      const { file, keep } = stored!;
      demandSame(file, errand);
      keep();
      told.set(context.caller.user, keyOf(errand), true);
      const { relative: path } = errand.path;
      const facts = { path, rung, mtime: null, sha256: file.sha256, encoding: null, cached: false };
      return { ...facts, stored: file };
    },

    /** What somebody was told of is not what they want now. */
    async forget(trip: Trip): Promise<void> {
      if (told.remove(trip.context.caller.user, keyOf(trip.errand))) await withdraw(trip);
    },
  };
}

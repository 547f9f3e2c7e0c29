import type { BrokenCrate, CrateLocation } from '../crate.ts';
import { ownerNobody } from '../sources/sources.ts';

/** What an archive without metadata is: a file of the crate in whose folder it is, or a broken crate. */
type LooseArchiveKind = 'payload' | 'broken';

interface LooseArchive {
  readonly place: CrateLocation;
  readonly takenFor: LooseArchiveKind;
}

/**
 * The archives of a source that have no metadata. Which of them are payload is known only at the end of the listing, since
 * the metadata of a folder is listed after many of its files. They are stored with a stamp that says what they were
 * taken for, so that none is read again in the next sync. Payload is stored as something that nobody may see.
 */
export function createLooseArchives() {
  const folders = new Set<string>();
  const all: LooseArchive[] = [];
  const truth = ({ object }: CrateLocation): LooseArchiveKind =>
    listParentFolders(object).some((folder) => folders.has(folder)) ? 'payload' : 'broken';

  return {
    /** Call it for everything that is listed. */
    pass({ kind, object }: CrateLocation): void {
      if (kind === 'folder') folders.add(listParentFolders(object)[0]!);
    },

    /** Whether its stored stamp says that it is a loose archive, and it has not changed. */
    isKnown(place: CrateLocation, stamp: string | undefined): boolean {
      const takenFor = looseArchiveKinds.find((kind) => stamp === toLooseStamp(place, kind));
      if (takenFor !== undefined) all.push({ place, takenFor });
      return takenFor !== undefined;
    },

    /** Adds one; gives it as it is stored for now. */
    add(place: CrateLocation): BrokenCrate {
      const takenFor = truth(place);
      all.push({ place, takenFor });
      return toBrokenArchive(place, takenFor);
    },

    /** After the listing: those that were taken for the wrong kind, as they must be stored instead. */
    *mistaken(): Generator<BrokenCrate> {
      for (const { place, takenFor } of all)
        if (takenFor !== truth(place)) yield toBrokenArchive(place, truth(place));
    },

    /** After the listing: how many there are of each kind. */
    count(): { payload: number; broken: number } {
      const broken = all.filter(({ place }) => truth(place) === 'broken').length;
      return { payload: all.length - broken, broken };
    },
  };
}

const looseArchiveKinds: readonly LooseArchiveKind[] = ['payload', 'broken'];

/** Added to the stamp of the store. */
const looseStampSuffixes = { payload: ' payload', broken: ' no metadata' };
const toLooseStamp = ({ stamp }: CrateLocation, takenFor: LooseArchiveKind): string =>
  stamp + looseStampSuffixes[takenFor];

/** Whether something with this stored stamp is a crate, even a broken one. */
export const isCrateStamp = (stamp: string): boolean => !stamp.endsWith(looseStampSuffixes.payload);

const toBrokenArchive = (place: CrateLocation, takenFor: LooseArchiveKind): BrokenCrate => ({
  place: {
    ...place,
    stamp: toLooseStamp(place, takenFor),
    owner: takenFor === 'payload' ? ownerNobody : place.owner,
  },
  code: 'metadata_invalid',
  reason:
    'There is no ro-crate-metadata.json in the archive, neither at the top nor up to three folders deep.',
});

/** Nearest first, each ending in `/`; the last is that of the source, which is empty. */
function listParentFolders(object: string): string[] {
  const parts = object.split('/').slice(0, -1);
  return Array.from({ length: parts.length + 1 }, (_, up) =>
    parts
      .slice(0, parts.length - up)
      .map((part) => `${part}/`)
      .join(''),
  );
}

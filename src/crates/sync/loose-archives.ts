import type { BrokenCrate, CrateLocation } from '../crate.ts';

/** What an archive without metadata is taken for: a file of the crate in whose folder it stands, or a broken crate. */
type LooseArchiveKind = 'payload' | 'broken';

interface LooseArchive {
  readonly place: CrateLocation;
  readonly takenFor: LooseArchiveKind;
  /** Whether it was read this time. */
  readonly isNew: boolean;
}

/**
 * The archives of a source that hold no metadata. Which of them are payload shows at the end of the listing only, since
 * the metadata of a folder come after much of what stands in it. They are remembered by a stamp that says what they were
 * taken for, so that none is read again, neither now nor at the next time; payload as what nobody may see.
 */
export function createLooseArchives() {
  const folders = new Set<string>();
  const all: LooseArchive[] = [];
  const truth = ({ object }: CrateLocation): LooseArchiveKind =>
    listParentFolders(object).some((folder) => folders.has(folder)) ? 'payload' : 'broken';

  return {
    /** To be told of everything that is listed. */
    pass({ kind, object }: CrateLocation): void {
      if (kind === 'folder') folders.add(listParentFolders(object)[0]!);
    },

    /** Whether one is known as such by the stamp it is remembered by, and has not changed. */
    isKnown(place: CrateLocation, stamp: string | undefined): boolean {
      const takenFor = looseArchiveKinds.find((kind) => stamp === toLooseStamp(place, kind));
      if (takenFor !== undefined) all.push({ place, takenFor, isNew: false });
      return takenFor !== undefined;
    },

    /** One more, as it is to be remembered for the time being. */
    add(place: CrateLocation): BrokenCrate {
      const takenFor = truth(place);
      all.push({ place, takenFor, isNew: true });
      return toBrokenArchive(place, takenFor);
    },

    /** After the listing: those that turned out to be something else, as they are to be remembered. */
    *mistaken(): Generator<BrokenCrate> {
      for (const { place, takenFor } of all)
        if (takenFor !== truth(place)) yield toBrokenArchive(place, truth(place));
    },

    /** After the listing: how many there are of each. */
    count(): { payload: number; broken: number; unchanged: number } {
      const crates = all.filter(({ place }) => truth(place) === 'broken');
      const broken = crates.filter(({ isNew }) => isNew).length;
      return { payload: all.length - crates.length, broken, unchanged: crates.length - broken };
    },
  };
}

const looseArchiveKinds: readonly LooseArchiveKind[] = ['payload', 'broken'];

/** Behind what the store says. */
const looseStampSuffixes = { payload: ' payload', broken: ' no metadata' };
const toLooseStamp = ({ stamp }: CrateLocation, takenFor: LooseArchiveKind): string =>
  stamp + looseStampSuffixes[takenFor];

/** Whether something that is remembered by this stamp is a crate, be it a broken one. */
export const isCrateStamp = (stamp: string): boolean => !stamp.endsWith(looseStampSuffixes.payload);

/** The owner of what nobody may see. */
export const ownerNobody = '';

const toBrokenArchive = (place: CrateLocation, takenFor: LooseArchiveKind): BrokenCrate => ({
  place: {
    ...place,
    stamp: toLooseStamp(place, takenFor),
    owner: takenFor === 'payload' ? ownerNobody : place.owner,
  },
  code: 'metadata_invalid',
  reason: 'There is no ro-crate-metadata.json in the archive, not three folders deep either.',
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

import { ownerOfObject } from '../pack/pack.ts';
import { everybodys, openSource, type OwnerOf, type SourceOptions } from '../sources/sources.ts';
import { localCaller } from '../../identity.ts';
import { nobody } from './loose-archives.ts';
import type { Source } from '../../storage/source.ts';

/** A source as the settings name it: plain data, for other threads too. */
export interface NamedSource {
  readonly options: SourceOptions;
  /** Whether packed crates go there: for `several` users, each for its owner, or all for the `one` there is. */
  readonly packsOf: 'several' | 'one' | null;
}

/** A source whose crates are in the index. */
export interface WatchedSource {
  readonly source: Source;
  readonly ownerOf: OwnerOf;
}

export async function openWatched(named: readonly NamedSource[]): Promise<WatchedSource[]> {
  const opened: WatchedSource[] = [];
  for (const { options, packsOf } of named)
    opened.push({ source: await openSource(options), ownerOf: owners(packsOf) });
  return opened;
}

function owners(packsOf: NamedSource['packsOf']): OwnerOf {
  if (packsOf === null) return everybodys;
  return packsOf === 'several'
    ? packOwner
    : (name) => (packOwner(name) === localCaller.user ? null : packOwner(name));
}

/** What stands among the users' and is nobody's by its name is seen by nobody, rather than by everybody. */
const packOwner: OwnerOf = (name) => ownerOfObject(name) ?? (name.startsWith('users/') ? nobody : null);

import { localCaller } from '../../../core/identity.ts';
import { WorkcrateError } from '../../../platform/errors.ts';
import type { Source } from '../../../ports/storage/source.ts';
import { openCrateSource, type SourceOptions } from './address.ts';
import { ownedByEverybody, type GetObjectOwner } from './discover.ts';
import { isInUsersFolder, parsePackedObjectOwner } from './packed-names.ts';

/** A source as the settings name it: plain data, for other threads too. */
export interface ConfiguredSource {
  readonly options: SourceOptions;
  /** Whether packed crates go there: of `several` users, each with an owner, or of the `one` user. */
  readonly packsOf: 'several' | 'one' | null;
}

/** A source whose crates are in the index. */
export interface IndexedSource {
  readonly source: Source;
  readonly ownerOf: GetObjectOwner;
}

/** The owner of what nobody may see. */
export const ownerNobody = '';

export async function openIndexedSources(named: readonly ConfiguredSource[]): Promise<IndexedSource[]> {
  const opened: IndexedSource[] = [];
  for (const { options, packsOf } of named)
    opened.push({ source: await openCrateSource(options), ownerOf: createOwnerLookup(packsOf) });
  return opened;
}

/** Opens them when they are first asked for, and again only after a failure. */
export function openIndexedSourcesOnce(
  named: readonly ConfiguredSource[],
): () => Promise<readonly IndexedSource[]> {
  let opened: Promise<readonly IndexedSource[]> | null = null;
  return () =>
    (opened ??= openIndexedSources(named).catch((error: unknown) => {
      opened = null;
      throw error;
    }));
}

/** The source that a crate is in; `crate_gone` if the settings no longer name it. */
export function demandSource(sources: readonly IndexedSource[], url: string): Source {
  const found = sources.find(({ source }) => source.url === url);
  if (found) return found.source;
  throw new WorkcrateError('crate_gone', `${url} is no longer a source of this server.`);
}

function createOwnerLookup(packsOf: ConfiguredSource['packsOf']): GetObjectOwner {
  if (packsOf === null) return ownedByEverybody;
  return packsOf === 'several'
    ? getPackOwner
    : (name) => (getPackOwner(name) === localCaller.user ? null : getPackOwner(name));
}

/** An object below `users/` without a valid owner is visible to nobody, rather than to everybody. */
const getPackOwner: GetObjectOwner = (name) =>
  parsePackedObjectOwner(name) ?? (isInUsersFolder(name) ? ownerNobody : null);

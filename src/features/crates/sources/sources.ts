/**
 * The door of sources: open one, find what looks like a crate in it, open a crate. Metadata is parsed in `metadata/`, and
 * what was found is remembered by `sync/`.
 */
export { openCrateSource, type SourceOptions } from './address.ts';
export {
  demandSource,
  openIndexedSources,
  openIndexedSourcesOnce,
  ownerNobody,
  type ConfiguredSource,
  type IndexedSource,
} from './configured.ts';
export {
  openCrateContainer,
  type CrateContainer,
  type CrateFile,
  type CrateFileReadOptions,
  type StoredFileRange,
} from './container.ts';
export {
  findCandidates,
  computeCrateId,
  ownedByEverybody,
  toCrateLocation,
  type CandidateSearch,
  type GetObjectOwner,
} from './discover.ts';
export { createPackedObjectName, parsePackedObjectOwner } from './packed-names.ts';

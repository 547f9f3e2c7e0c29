export { openCrateSource, type SourceOptions } from './address.ts';
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

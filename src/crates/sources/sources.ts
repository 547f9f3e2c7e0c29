export { openSource, type SourceOptions } from './address.ts';
export {
  openContainer,
  type CrateContainer,
  type CrateFile,
  type ReadingFile,
  type StoredFile,
} from './container.ts';
export { candidatesIn, crateIdOf, everybodys, placeOf, type Candidates, type OwnerOf } from './discover.ts';

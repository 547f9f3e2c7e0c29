export { candidatesIn, type Candidates } from './candidates.ts';
export { openContainer } from './container.ts';
export type { CrateContainer, CrateFile, ReadingFile, StoredFile } from './contents.ts';
export { openSource, type SourceOptions } from './open.ts';
export { crateIdOf, everybodys, placeOf, type OwnerOf } from './place.ts';

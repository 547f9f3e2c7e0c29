import { statSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import type { CrateLocation } from '../features/crates/crate.ts';
import {
  ownedByEverybody,
  openCrateContainer,
  openCrateSource,
  toCrateLocation,
  type CrateContainer,
} from '../features/crates/sources/sources.ts';
import { WorkcrateError } from '../platform/errors.ts';
import type { ProgramInput } from './command.ts';
import { checkCrate, openCrateDesk } from './crate-desk.ts';
import { checkData } from './open-unlocked.ts';

export interface OpenedCrate {
  readonly container: CrateContainer;
  readonly place: Pick<CrateLocation, 'kind' | 'object'>;
}

const crateIdForm = /^crate_[0-9a-f]{24}$/;

/** Opens the crate that a word on the command line names: a crate_id, an archive, a metadata file or a folder with one. */
export async function openNamedCrate(
  input: ProgramInput,
  which: string,
  opened: AsyncDisposableStack,
  signal: AbortSignal,
): Promise<OpenedCrate> {
  if (crateIdForm.test(which)) {
    checkData(input.config);
    const desk = opened.use(await openCrateDesk(input));
    await checkCrate(desk, which);
    const { container, place } = await desk.crates.inside.open(desk.caller, which, signal);
    return { container: opened.use(container), place };
  }
  const path = resolve(which);
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  const names = isFolder ? ['ro-crate-metadata.json', 'ro-crate-metadata.jsonld'] : [basename(path)];
  const folder = await openCrateSource({
    kind: 'folder',
    directory: isFolder ? path : dirname(path),
  });
  opened.defer(() => folder.close());
  for (const name of names) {
    const object = await folder.stat(name, signal);
    const place = object && toCrateLocation(folder, object, ownedByEverybody);
    if (place) return { container: opened.use(await openCrateContainer(folder, place, { signal })), place };
  }
  throw new WorkcrateError(
    'not_found',
    `${JSON.stringify(which)} is neither a crate_id nor a file that can be a crate (.zip, .eln, ro-crate-metadata.json), nor a folder with one.`,
  );
}

import { WorkcrateError } from '../../errors.ts';
import type { Files } from '../../files/files.ts';
import type { Caller } from '../../identity.ts';
import type { Links } from '../../links/links.ts';
import type { Source } from '../../storage/source.ts';
import type { CratePlace } from '../crate.ts';
import type { CrateContainer, CrateFile } from '../sources/sources.ts';
import type { SourceOf } from './reference.ts';

export interface InsideOptions {
  /** Where a crate that the caller may see stands; `not_found` where there is none. */
  find(caller: Caller, crateId: string, signal: AbortSignal): Promise<CratePlace>;
  readonly sourceOf: SourceOf;
  readonly files: Pick<Files, 'add' | 'maxFileSize' | 'demandRoom'>;
  readonly links: Pick<Links, 'share' | 'shareElsewhere'>;
  /** The largest crate that is given as bytes. */
  readonly mostBytes: number;
}

/** A crate held open where it stands. */
export interface OpenCrate {
  readonly place: CratePlace;
  readonly source: Source;
  readonly container: CrateContainer;
}

export async function demandFile(container: CrateContainer, path: string): Promise<CrateFile> {
  const file = await container.find(path);
  if (file !== null) return file;
  throw new WorkcrateError(
    'not_found',
    `The crate holds no file ${JSON.stringify(path.slice(0, 200))}. list_crate_files shows what there is; case and Unicode form count.`,
  );
}

import { openRemoteSource, type RemoteSourceOptions } from '../../storage/open-source.ts';
import type { Source } from '../../storage/source.ts';
import { folderSource } from './folder-source.ts';

export type SourceOptions =
  | {
      readonly kind: 'folder';
      readonly directory: string;
      /** What ids and links call it, where that is not its own URL. */
      readonly knownAs?: string;
    }
  | RemoteSourceOptions;

/** Every kind of source there is. */
export async function openSource(
  options: SourceOptions,
  limits?: Parameters<typeof openRemoteSource>[1],
): Promise<Source> {
  return options.kind === 'folder'
    ? folderSource(options.directory, options.knownAs)
    : openRemoteSource(options, limits);
}

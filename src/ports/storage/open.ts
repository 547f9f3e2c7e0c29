/**
 * The list of storage backends and of remote sources. Those that need the network are imported only where they are asked
 * for. It reads no settings: `server/stores.ts` and `features/crates/` bring the options.
 */
import type { AzureOptions } from './azure/azure.ts';
import { diskStorage } from './disk.ts';
import { memoryStorage } from './memory.ts';
import type { ObserveRequest, RemoteLimits } from './remote/remote.ts';
import type { S3Options } from './s3/s3.ts';
import type { Source } from './source.ts';
import type { Storage } from './storage.ts';

export type StorageOptions =
  | { readonly kind: 'disk'; readonly directory: string }
  | { readonly kind: 'memory' }
  | ({ readonly kind: 's3' } & S3Options)
  | ({ readonly kind: 'azure' } & AzureOptions);

/** Every storage backend. Those that need the network are imported on demand. */
export async function openStorage(
  options: StorageOptions,
  observe: ObserveRequest = () => {},
): Promise<Storage> {
  switch (options.kind) {
    case 'disk':
      return diskStorage(options.directory);
    case 'memory':
      return memoryStorage();
    case 's3':
      return (await import('./s3/s3.ts')).s3Storage(options, { observe });
    case 'azure':
      return (await import('./azure/azure.ts')).azureStorage(options, { observe });
  }
}

export type RemoteSourceOptions =
  | ({ readonly kind: 's3' } & S3Options)
  | ({ readonly kind: 'azure' } & AzureOptions);

/** Every source that is reached by the network. They are imported on demand. */
export async function openRemoteSource(options: RemoteSourceOptions, limits?: RemoteLimits): Promise<Source> {
  switch (options.kind) {
    case 's3':
      return (await import('./s3/source.ts')).s3Source(options, limits);
    case 'azure':
      return (await import('./azure/source.ts')).azureSource(options, limits);
  }
}

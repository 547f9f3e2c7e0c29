import type { AzureOptions } from './azure/azure.ts';
import type { RemoteLimits } from './remote/remote.ts';
import type { S3Options } from './s3/s3.ts';
import type { Source } from './source.ts';

export type RemoteSourceOptions =
  | ({ readonly kind: 's3' } & S3Options)
  | ({ readonly kind: 'azure' } & AzureOptions);

/** Every source that is reached by the network. They are loaded when they are asked for. */
export async function openRemoteSource(options: RemoteSourceOptions, limits?: RemoteLimits): Promise<Source> {
  switch (options.kind) {
    case 's3':
      return (await import('./s3/source.ts')).s3Source(options, limits);
    case 'azure':
      return (await import('./azure/source.ts')).azureSource(options, limits);
  }
}

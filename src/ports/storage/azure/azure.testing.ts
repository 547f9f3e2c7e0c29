import type { TestAzurite } from '../azurite.testing.ts';
import type { RemoteLimits } from '../remote/remote.ts';
import type { Storage } from '../storage.ts';
import { azureStorage, type AzureOptions } from './azure.ts';

/** Parts are small, so that small objects have many. */
export const partBytes = 64 * 1024;

/** Tries soon and gives up soon. */
export const impatient: RemoteLimits = { tries: 4, firstPauseMs: 5, longestPauseMs: 20, totalMs: 20_000 };

export function openAzure(
  { endpoint, account, key, container }: TestAzurite,
  changes: Partial<AzureOptions> = {},
  limits: RemoteLimits = impatient,
): Promise<Storage> {
  const options = { endpoint, account, container, prefix: 'p/', credential: { key }, partBytes, ...changes };
  return azureStorage(options, limits);
}

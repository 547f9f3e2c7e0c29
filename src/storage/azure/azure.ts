import { randomBytes } from 'node:crypto';
import { WorkcrateError } from '../../errors.ts';
import { namesBelow, openRemote, type Names, type RemoteLimits } from '../remote/remote.ts';
import type { OpenObject, Staging, Storage, StoredObject } from '../storage.ts';
import { createBlobs, type Blobs } from './blobs.ts';
import { listObjects } from './listing.ts';
import { presigned } from './presigning.ts';
import { azureStaging } from './staging.ts';

export interface AzureOptions {
  readonly container: string;
  /** What every name begins with; empty or ending in `/`. */
  readonly prefix: string;
  /** URL of the blob service, without a slash at its end. */
  readonly endpoint: string;
  readonly account: string;
  /** The account's key in base64, or a shared access signature. */
  readonly credential: { readonly key: string } | { readonly sas: string };
  readonly partBytes: number;
}

/** Keeps objects as block blobs in a container, by the service's own REST API. */
export async function azureStorage(options: AzureOptions, limits?: RemoteLimits): Promise<Storage> {
  checkOptions(options);
  const blobs = createBlobs(options, limits);
  const names = namesBelow(options.prefix);
  const staging = azureStaging(blobs, names, options.partBytes);
  return {
    kind: 'azure',
    isShared: true,
    isLasting: true,
    holdsRemoved: false,
    staging,
    stat: (key) => statObject(blobs, names, key),
    open: (key) => openObject(blobs, names.object(key)),
    list: (query = {}) => listObjects(blobs, names, query),
    remove: (key) => blobs.remove(names.object(key)),
    presign: async (method, key, expiresAt, response) =>
      presigned(options, blobs.urlOf(names.object(key)), names.object(key), method, expiresAt, response),
    probe: () => probe(staging),
    close: async () => blobs.close(),
  };
}

/** A wrong one would otherwise show as a refusal of the service, which cannot tell why. */
export function checkOptions({ endpoint, credential }: AzureOptions): void {
  if (!/^https?:$/.test(URL.parse(endpoint)?.protocol ?? ''))
    throw new WorkcrateError(
      'config_invalid',
      'The address of the Azure Blob service must be an http or https URL.',
    );
  if ('key' in credential && !/^[A-Za-z0-9+/]+={0,2}$/.test(credential.key))
    throw new WorkcrateError('config_invalid', 'AZURE_STORAGE_KEY is not in base64. Copy it again.');
}

async function statObject(blobs: Blobs, names: Names, key: string): Promise<StoredObject | null> {
  const found = await blobs.head(names.object(key));
  return found && { key, size: found.size, modified: found.modified };
}

async function openObject(blobs: Blobs, name: string): Promise<OpenObject | null> {
  const found = await blobs.head(name);
  return found && openRemote(blobs, { name, etag: found.etag, size: found.size });
}

/** Writes and drops a byte: a credential that may only read shows here before an upload fails on it. */
async function probe(staging: Staging): Promise<void> {
  const id = `probe-${randomBytes(8).toString('hex')}`;
  const one = async function* (): AsyncGenerator<Uint8Array> {
    yield new Uint8Array(1);
  };
  await staging.append(id, 0, one());
  await staging.discard(id);
}

/**
 * The storage backend for Azure Blob Storage, by its REST API. It takes uploads in by `staging.ts`, signs by `client.ts`,
 * and creates no container. Crates in a container of others are `source.ts`.
 */
import { randomBytes } from 'node:crypto';
import { WorkcrateError } from '../../../platform/errors.ts';
import {
  createObjectNames,
  openRemoteObject,
  type ObjectNames,
  type RemoteLimits,
} from '../remote/remote.ts';
import type { OpenObject, PresignedUrl, Staging, Storage, StoredObject } from '../storage.ts';
import { createBlobs, hmac, type AzureAccount, type Blobs } from './client.ts';
import { listBlobObjects } from './listing.ts';
import { createAzureStaging } from './staging.ts';

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
  checkAzureOptions(options);
  const blobs = createBlobs(options, limits);
  const names = createObjectNames(options.prefix);
  const staging = createAzureStaging(blobs, names, options.partBytes);
  return {
    kind: 'azure',
    isShared: true,
    isLasting: true,
    holdsRemoved: false,
    staging,
    stat: (key) => statAzureBlob(blobs, names, key),
    open: (key) => openAzureBlob(blobs, names.object(key)),
    list: (query = {}) => listBlobObjects(blobs, names, query),
    remove: (key) => blobs.remove(names.object(key)),
    presign: async (method, key, expiresAt, response) =>
      presignAzureUrl(
        options,
        blobs.urlOf(names.object(key)),
        names.object(key),
        method,
        expiresAt,
        response,
      ),
    probe: () => probeAzure(staging),
    close: async () => blobs.close(),
  };
}

/** Otherwise the service refuses a wrong one and cannot say why. */
export function checkAzureOptions({ endpoint, credential }: AzureOptions): void {
  if (!/^https?:$/.test(URL.parse(endpoint)?.protocol ?? ''))
    throw new WorkcrateError(
      'config_invalid',
      'The address of the Azure Blob service must be an http or https URL.',
    );
  if ('key' in credential && !/^[A-Za-z0-9+/]+={0,2}$/.test(credential.key))
    throw new WorkcrateError('config_invalid', 'AZURE_STORAGE_KEY is not in base64. Copy it again.');
}

async function statAzureBlob(blobs: Blobs, names: ObjectNames, key: string): Promise<StoredObject | null> {
  const found = await blobs.head(names.object(key));
  return found && { key, size: found.size, modified: found.modified };
}

async function openAzureBlob(blobs: Blobs, name: string): Promise<OpenObject | null> {
  const found = await blobs.head(name);
  return found && openRemoteObject(blobs, { name, etag: found.etag, size: found.size });
}

/** Writes and drops a byte, so that a read-only credential is found before an upload fails. */
async function probeAzure(staging: Staging): Promise<void> {
  const id = `probe-${randomBytes(8).toString('hex')}`;
  const one = async function* (): AsyncGenerator<Uint8Array> {
    yield new Uint8Array(1);
  };
  await staging.append(id, 0, one());
  await staging.discard(id);
}

/** Only the account's key can sign. A URL for sending makes an object once and never replaces one. */
export function presignAzureUrl(
  { account, container, credential }: AzureOptions,
  url: URL,
  blob: string,
  method: 'GET' | 'PUT',
  expiresAt: number,
  response: { contentType: string; contentDisposition: string } | undefined,
): PresignedUrl | null {
  if ('sas' in credential) return null;
  const wholeSeconds = Math.floor(expiresAt / 1000) * 1000;
  url.search = createServiceSas(
    { account, key: credential.key },
    {
      container,
      blob,
      permissions: method === 'GET' ? 'r' : 'c',
      expiresAt: wholeSeconds,
      isHttps: url.protocol === 'https:',
      response: response ?? null,
    },
  );
  const headers: Record<string, string> = method === 'PUT' ? { 'x-ms-blob-type': 'BlockBlob' } : {};
  return { url: url.href, headers, expiresAt: wholeSeconds };
}

const sasVersion = '2023-11-03';

export interface SasGrant {
  readonly container: string;
  readonly blob: string;
  /** `r` to read; `c` to make it where it is not there yet. */
  readonly permissions: 'r' | 'c';
  /** In milliseconds; the service knows whole seconds. */
  readonly expiresAt: number;
  readonly isHttps: boolean;
  readonly response: { readonly contentType: string; readonly contentDisposition: string } | null;
}

/** The query of a URL that gives one right to one blob until a time. */
function createServiceSas(account: AzureAccount, grant: SasGrant): string {
  const expiry = new Date(grant.expiresAt).toISOString().replace(/\.\d+Z$/, 'Z');
  const query: Record<string, string> = {
    sp: grant.permissions,
    se: expiry,
    ...(grant.isHttps ? { spr: 'https' } : {}),
    sv: sasVersion,
    sr: 'b',
    ...(grant.response ? { rscd: grant.response.contentDisposition, rsct: grant.response.contentType } : {}),
  };
  const sig = hmac(account.key, buildTextToSign(account.account, grant, query));
  return Object.entries({ ...query, sig })
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join('&');
}

/** Fields that are not used are empty: start, policy, address, snapshot, scope, and three of the headers. */
function buildTextToSign(
  account: string,
  { container, blob }: SasGrant,
  query: Record<string, string>,
): string {
  const at = (name: string): string => query[name] ?? '';
  const resource = `/blob/${account}/${container}/${blob}`;
  const bounds = [at('sp'), '', at('se'), resource, '', '', at('spr'), at('sv'), at('sr'), '', ''];
  return [...bounds, '', at('rscd'), '', '', at('rsct')].join('\n');
}

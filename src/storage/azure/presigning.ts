import type { PresignedUrl } from '../storage.ts';
import type { AzureOptions } from './azure.ts';
import { serviceSas } from './service-sas.ts';

/** Only the account's key can sign. A URL for sending makes an object once and never replaces one. */
export function presigned(
  { account, container, credential }: AzureOptions,
  url: URL,
  blob: string,
  method: 'GET' | 'PUT',
  expiresAt: number,
  response: { contentType: string; contentDisposition: string } | undefined,
): PresignedUrl | null {
  if ('sas' in credential) return null;
  const wholeSeconds = Math.floor(expiresAt / 1000) * 1000;
  url.search = serviceSas(
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

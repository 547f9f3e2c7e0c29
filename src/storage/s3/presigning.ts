import { AwsV4Signer } from 'aws4fetch';
import type { PresignedUrl } from '../storage.ts';
import { credentials, type Bucket } from './bucket.ts';

/** S3 takes no longer time than this. */
const longestSeconds = 7 * 24 * 60 * 60;

/** What is sent by such a URL is an object like any other: it does not replace one. */
const ofPut = { 'if-none-match': '*' };

export async function presigned(
  bucket: Bucket,
  method: 'GET' | 'PUT',
  name: string,
  expiresAt: number,
  response?: { contentType: string; contentDisposition: string },
): Promise<PresignedUrl> {
  const now = Math.floor(Date.now() / 1000);
  const seconds = Math.min(longestSeconds, Math.max(1, Math.floor(expiresAt / 1000) - now));
  const headers = method === 'PUT' ? ofPut : {};
  const url = bucket.urlOf(name, { ...overridden(response), 'X-Amz-Expires': `${seconds}` }).href;
  const datetime = new Date(now * 1000).toISOString().replaceAll(/[:-]|\.\d{3}/g, '');
  const signer = new AwsV4Signer({
    method,
    url,
    headers,
    datetime,
    signQuery: true,
    ...credentials(bucket.options),
  });
  const signed = new URL((await signer.sign()).url);
  // Written anew, since a space would stand there as `+`, which not every store reads as one.
  signed.search = signed.search.replaceAll('+', '%20');
  return { url: signed.href, headers, expiresAt: (now + seconds) * 1000 };
}

const overridden = (response?: { contentType: string; contentDisposition: string }): Record<string, string> =>
  response === undefined
    ? {}
    : {
        'response-content-type': response.contentType,
        'response-content-disposition': response.contentDisposition,
      };

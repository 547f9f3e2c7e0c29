import { findElementText, findElements } from '../../net/xml.ts';
import { advanced, demandDocument, mostStaged, tooManyStaged } from '../remote/remote.ts';
import type { Bucket } from './bucket.ts';
import { demand } from './refusals.ts';

interface Listed {
  readonly name: string;
  readonly size: number;
  readonly modified: number;
}

/** A page of what stands in the bucket, in the order of UTF-8 bytes, which for our names is that of their text. */
export async function listNames(
  bucket: Bucket,
  prefix: string,
  after: string,
  limit: number,
): Promise<{ found: Listed[]; isLast: boolean }> {
  const query = {
    'list-type': '2',
    prefix,
    'max-keys': `${limit}`,
    ...(after === '' ? {} : { 'start-after': after }),
  };
  const { text } = demand(bucket, await bucket.ask({ method: 'GET', name: '', query }));
  const found = findElements(demandDocument(text, 'ListBucketResult'), 'Contents').map(listed);
  const isLast = findElementText(text, 'IsTruncated') !== 'true';
  // A page of nothing that is not the last is no progress either.
  if (found.length > 0 || !isLast) advanced(after, found.at(-1)?.name ?? '');
  return { found, isLast };
}

const listed = (xml: string): Listed => ({
  name: findElementText(xml, 'Key') ?? '',
  size: Number(findElementText(xml, 'Size')),
  modified: Date.parse(findElementText(xml, 'LastModified') ?? '') || 0,
});

/** All of it, page by page, up to as many as uploads may be. */
export async function allNames(bucket: Bucket, prefix: string): Promise<Listed[]> {
  const all: Listed[] = [];
  for (;;) {
    const { found, isLast } = await listNames(bucket, prefix, all.at(-1)?.name ?? '', 1000);
    if (all.length + found.length > mostStaged) throw tooManyStaged();
    for (const one of found) all.push(one);
    if (isLast) return all;
  }
}

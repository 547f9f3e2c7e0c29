import { element, elements } from '../remote/remote.ts';
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
  return { found: elements(text, 'Contents').map(listed), isLast: element(text, 'IsTruncated') !== 'true' };
}

const listed = (xml: string): Listed => ({
  name: element(xml, 'Key') ?? '',
  size: Number(element(xml, 'Size')),
  modified: Date.parse(element(xml, 'LastModified') ?? '') || 0,
});

/** All of it, page by page. */
export async function* allNames(bucket: Bucket, prefix: string): AsyncGenerator<Listed> {
  for (let after = ''; ;) {
    const { found, isLast } = await listNames(bucket, prefix, after, 1000);
    yield* found;
    if (isLast || found.length === 0) return;
    after = found.at(-1)!.name;
  }
}

import { findElementText, findElements } from '../../net/xml.ts';
import { advanced, demandDocument } from '../remote/remote.ts';
import { bareEtag, toldBelow, type Listed } from '../source-names.ts';
import type { SourcePage } from '../source.ts';
import type { Bucket } from './bucket.ts';
import { demand } from './refusals.ts';
import { WorkcrateError } from '../../errors.ts';

/** A thousand names of 1,024 bytes, each of them written as three. */
const longestText = 8 * 1024 * 1024;

/**
 * A page of names that others have chosen. XML cannot hold every character that a name can, so the store is asked to
 * encode them; one that does not know of that says so by leaving it unsaid.
 */
export async function listPage(
  bucket: Bucket,
  wanted: { prefix?: string; after?: string },
  signal?: AbortSignal,
): Promise<SourcePage> {
  const { prefix: root } = bucket.options;
  const { after = '' } = wanted;
  const query = {
    'list-type': '2',
    'encoding-type': 'url',
    prefix: root + (wanted.prefix ?? ''),
    'max-keys': '1000',
    ...(after === '' ? {} : { 'start-after': root + after }),
  };
  const { text } = demand(bucket, await bucket.ask({ method: 'GET', name: '', query, longestText }, signal));
  const isEncoded = findElementText(demandDocument(text, 'ListBucketResult'), 'EncodingType') === 'url';
  const listed = findElements(text, 'Contents').map((xml) => listedIn(xml, isEncoded));
  const isLast = findElementText(text, 'IsTruncated') !== 'true';
  const next = isLast ? null : lastOf(listed, root + after).slice(root.length);
  return { ...toldBelow(root, listed), next };
}

function lastOf(listed: readonly Listed[], after: string): string {
  const last = listed.at(-1);
  if (last?.name === null)
    throw new WorkcrateError(
      'storage_failed',
      'The store has names that are not UTF-8, and cannot list those after them. Rename them.',
    );
  return advanced(after, last?.name ?? '');
}

const listedIn = (xml: string, isEncoded: boolean): Listed => ({
  name: isEncoded ? decoded(findElementText(xml, 'Key') ?? '') : findElementText(xml, 'Key'),
  size: Number(findElementText(xml, 'Size') ?? NaN),
  modified: Math.floor((Date.parse(findElementText(xml, 'LastModified') ?? '') || 0) / 1000) * 1000,
  stamp: bareEtag(findElementText(xml, 'ETag') ?? ''),
});

/** AWS writes a space as `+`, and a plus never as itself. */
function decoded(key: string): string | null {
  try {
    return decodeURIComponent(key.replaceAll('+', ' '));
  } catch {
    return null;
  }
}

import { WorkcrateError } from '../../../platform/errors.ts';
import { findElements, findElementText } from '../../../platform/net/xml.ts';
import { checkAdvance, maxStagedUploads, tooManyStagedError, type ObjectNames } from '../remote/remote.ts';
import type { ObjectPage, Staged, StoredObject } from '../storage.ts';
import type { Blobs } from './client.ts';

interface BlobPage {
  readonly blobs: StoredObject[];
  /** Where the next page begins, as the service says it; empty at the end. */
  readonly marker: string;
}

/** How far a listing has come. */
interface BlobListCursor {
  readonly marker: string;
  /** The last name so far. */
  readonly name: string;
  /** How many pages in a row had none. */
  readonly empty: number;
}

/** The service would return five times as many; the XML should stay short. */
const maxBlobsPerPage = 1000;
/** A page may be empty although there are more, but not for ever. */
const maxEmptyPages = 1000;

async function readPage(blobs: Blobs, prefix: string, marker: string, limit: number): Promise<BlobPage> {
  const xml = await blobs.list({
    prefix,
    maxresults: `${Math.min(limit, maxBlobsPerPage)}`,
    ...(marker === '' ? {} : { marker }),
  });
  return {
    blobs: findElements(xml, 'Blob').map(toStoredBlob),
    marker: findElementText(xml, 'NextMarker') ?? '',
  };
}

/** Where to continue; a store that makes no progress is refused, since its listing would never end. */
function advanceCursor({ marker, name, empty }: BlobListCursor, page: BlobPage): BlobListCursor {
  const last = page.blobs.at(-1);
  const next = {
    marker: page.marker,
    name: last === undefined ? name : checkAdvance(name, last.key),
    empty: last === undefined ? empty + 1 : 0,
  };
  if (next.empty <= maxEmptyPages && (next.marker === '' || next.marker !== marker)) return next;
  throw new WorkcrateError('storage_failed', 'The store lists without an end. See its log.');
}

const toStoredBlob = (xml: string): StoredObject => ({
  key: findElementText(xml, 'Name') ?? '',
  size: Number(findElementText(xml, 'Content-Length') ?? 0),
  modified: Date.parse(findElementText(xml, 'Last-Modified') ?? '') || 0,
});

/**
 * One page of objects. The service continues from a marker of its own only, never from a name; so `next` is the last key
 * followed by the marker. A key alone works too, by reading from the beginning.
 */
export async function listBlobObjects(
  blobs: Blobs,
  names: ObjectNames,
  { prefix = '', after = '', limit = 1000 }: { prefix?: string; after?: string; limit?: number },
): Promise<ObjectPage> {
  const [start, marker] = splitNext(after);
  let last = start;
  let reached: BlobListCursor = { marker, name: marker === '' ? '' : names.objects + start, empty: 0 };
  for (;;) {
    const page = await readPage(blobs, names.objects + prefix, reached.marker, limit);
    reached = advanceCursor(reached, page);
    const found = page.blobs.flatMap((blob) => {
      const key = names.keyOf(blob.key);
      return key !== null && key > last ? [{ ...blob, key }] : [];
    });
    last = found.at(-1)?.key ?? last;
    if (page.marker === '') return { objects: found, next: null };
    if (found.length > 0) return { objects: found, next: `${last} ${page.marker}` };
  }
}

/** No key holds a space. */
function splitNext(after: string): [last: string, marker: string] {
  const at = after.indexOf(' ');
  return at === -1 ? [after, ''] : [after.slice(0, at), after.slice(at + 1)];
}

/** Every staged upload, also one of which only the blob with its blocks is left. */
export async function listStagedBlobs(blobs: Blobs, names: ObjectNames): Promise<Staged[]> {
  const all = new Map<string, number>();
  let [reached, count]: [BlobListCursor, number] = [{ marker: '', name: '', empty: 0 }, 0];
  do {
    const page = await readPage(blobs, names.staging, reached.marker, maxBlobsPerPage);
    reached = advanceCursor(reached, page);
    count += page.blobs.length;
    if (count > maxStagedUploads) throw tooManyStagedError();
    for (const { key, modified } of page.blobs) {
      const id = names.idOf(key.replace(/\/data$/, ''));
      if (id !== null) all.set(id, Math.max(modified, all.get(id) ?? 0));
    }
  } while (reached.marker !== '');
  return Array.from(all, ([id, modified]) => ({ id, modified }));
}

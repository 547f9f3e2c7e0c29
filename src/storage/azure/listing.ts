import { element, elements, type Names } from '../remote/remote.ts';
import type { ObjectPage, Staged, StoredObject } from '../storage.ts';
import type { Blobs } from './blobs.ts';

interface Page {
  readonly blobs: StoredObject[];
  /** Where the next page begins, as the service says it; empty at the end. */
  readonly marker: string;
}

/** The service would give five times as many; their XML is to stay short. */
const mostPerPage = 1000;

async function readPage(blobs: Blobs, prefix: string, marker: string, limit: number): Promise<Page> {
  const xml = await blobs.list({
    prefix,
    maxresults: `${Math.min(limit, mostPerPage)}`,
    ...(marker === '' ? {} : { marker }),
  });
  return { blobs: elements(xml, 'Blob').map(describe), marker: element(xml, 'NextMarker') ?? '' };
}

const describe = (xml: string): StoredObject => ({
  key: element(xml, 'Name') ?? '',
  size: Number(element(xml, 'Content-Length') ?? 0),
  modified: Date.parse(element(xml, 'Last-Modified') ?? '') || 0,
});

/**
 * One page of objects. The service goes on from a marker of its own only, never from a name; so what the caller is to
 * pass on is the last key with the marker behind it. A key alone is understood too, by reading from the beginning.
 */
export async function listObjects(
  blobs: Blobs,
  names: Names,
  { prefix = '', after = '', limit = 1000 }: { prefix?: string; after?: string; limit?: number },
): Promise<ObjectPage> {
  let [last, marker] = splitNext(after);
  for (;;) {
    const page = await readPage(blobs, names.objects + prefix, marker, limit);
    const found = page.blobs.flatMap((blob) => {
      const key = names.keyOf(blob.key);
      return key !== null && key > last ? [{ ...blob, key }] : [];
    });
    last = found.at(-1)?.key ?? last;
    marker = page.marker;
    if (marker === '') return { objects: found, next: null };
    // A page may be empty although there are more.
    if (found.length > 0) return { objects: found, next: `${last} ${marker}` };
  }
}

/** No key holds a space. */
function splitNext(after: string): [last: string, marker: string] {
  const at = after.indexOf(' ');
  return at === -1 ? [after, ''] : [after.slice(0, at), after.slice(at + 1)];
}

/** Every upload that there is, also one of which nothing is left but the blob that its blocks were in. */
export async function listStaged(blobs: Blobs, names: Names): Promise<Staged[]> {
  const all = new Map<string, number>();
  let marker = '';
  do {
    const page = await readPage(blobs, names.staging, marker, mostPerPage);
    for (const { key, modified } of page.blobs) {
      const id = names.idOf(key.replace(/\/data$/, ''));
      if (id !== null) all.set(id, Math.max(modified, all.get(id) ?? 0));
    }
    marker = page.marker;
  } while (marker !== '');
  return Array.from(all, ([id, modified]) => ({ id, modified }));
}

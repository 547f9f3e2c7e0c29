import { openRemote, type RemoteLimits } from '../remote/remote.ts';
import { crateChanged, crateGone, reaching, type Reaching } from '../source-failures.ts';
import { isSourceName, quotedEtag, stampIn } from '../source-names.ts';
import type { OpenSourceObject, Source, SourceObject } from '../source.ts';
import { checkOptions, type AzureOptions } from './azure.ts';
import { createBlobs, type Blobs } from './blobs.ts';
import { presigned } from './presigning.ts';
import type { Meanings } from './refusals.ts';
import { listPage } from './source-listing.ts';
import { putNew } from './source-putting.ts';

/** In characters. The service has no blob of a longer one, and refuses to look for it. */
const longestName = 1024;

/** Blobs that others keep below a prefix of a container. */
export async function azureSource(options: AzureOptions, limits?: RemoteLimits): Promise<Source> {
  checkOptions(options);
  const { container, prefix } = options;
  const url = `azure://${container}/${prefix}`;
  const blobs = createBlobs(options, limits, meaningsIn(options));
  const reach = reaching(url);
  const isFit = (name: string): boolean => isSourceName(name) && (prefix + name).length <= longestName;
  const statBlob = async (name: string, signal?: AbortSignal): Promise<SourceObject | null> => {
    const found = await blobs.head(prefix + name, signal);
    // Accounts with a hierarchy have blobs that stand for its folders.
    if (found === null || found.metadata['hdi_isfolder'] === 'true') return null;
    return { name, size: found.size, modified: found.modified, stamp: stampIn(found.etag) };
  };
  const stat = async (name: string, signal?: AbortSignal): Promise<SourceObject | null> =>
    isFit(name) ? reach(() => statBlob(name, signal)) : null;
  return {
    kind: 'azure',
    url,
    stat,
    list: ({ signal, ...wanted } = {}) => reach(() => listPage(blobs, prefix, wanted, signal)),
    open: async (name, signal) => {
      const object = await stat(name, signal);
      return object && openBlob(blobs, { url, prefix }, object, reach);
    },
    presign: async (name, expiresAt, response) =>
      isFit(name)
        ? presigned(options, blobs.urlOf(prefix + name), prefix + name, 'GET', expiresAt, response)
        : null,
    put: (name, size, bytes, signal) =>
      reach.writing(async () => {
        await putNew(blobs, options, name, size, bytes, signal);
        const made = await statBlob(name, signal);
        if (made === null) throw crateGone(url, name);
        return made;
      }),
    remove: (made) =>
      reach.writing(async () => {
        if ((await statBlob(made.name))?.stamp === made.stamp) await blobs.remove(prefix + made.name);
      }),
    close: async () => blobs.close(),
  };
}

function openBlob(
  blobs: Blobs,
  { url, prefix }: { url: string; prefix: string },
  object: SourceObject,
  reach: Reaching,
): OpenSourceObject {
  const { name, size, stamp } = object;
  const remote = openRemote(
    {
      broken: blobs.broken,
      getRange: async (opened, range, signal) => {
        const answer = await blobs.getRange(opened, range, signal);
        if (answer !== null) return answer;
        const found = await blobs.head(opened.name, signal);
        throw found === null ? crateGone(url, name) : crateChanged(url, name);
      },
    },
    { name: prefix + name, etag: quotedEtag(stamp), size },
  );
  return { ...remote, object, read: (start, end, signal) => reach.each(remote.read(start, end, signal)) };
}

/** Of a container of others, little is wanted, and it is not the one that the settings name. */
const meaningsIn = ({ container, account }: AzureOptions): Meanings => ({
  ContainerNotFound: [
    'storage_failed',
    `There is no container ${container} in the account ${account}. Check the name and the account.`,
  ],
  BlobArchived: [
    'unsupported',
    'The object is in the archive tier, and cannot be read from there. Have it rehydrated first.',
  ],
});

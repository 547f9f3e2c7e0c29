/**
 * Crates in a container of others, as a `Source`: names are theirs, and blobs may change at any time. It removes only what
 * its own `put` has made. Objects of this server are `azure.ts`.
 */
import { WorkcrateError } from '../../../platform/errors.ts';
import { findElements, findElementText } from '../../../platform/net/xml.ts';
import { openRemoteObject, splitIntoParts, type UploadPart, type RemoteLimits } from '../remote/remote.ts';
import {
  unquoteEtag,
  checkNewName,
  crateChangedError,
  crateGoneError,
  checkExactSize,
  isSourceName,
  quoteStamp,
  createSourceErrors,
  toStamp,
  toSourcePage,
  type ListedSourceObject,
  type OpenSourceObject,
  type SourceErrorMapper,
  type Source,
  type SourceObject,
  type SourcePage,
} from '../source.ts';
import { alreadyExistsError } from '../storage.ts';
import { checkAzureOptions, presignAzureUrl, type AzureOptions } from './azure.ts';
import { maxBlocks, createAttempt } from './blocks.ts';
import { createBlobs, type Blobs, type AzureErrorMeanings } from './client.ts';
import { writeBlocks } from './staged.ts';
import { createBlobMaker } from './staging.ts';

/** In characters. The service refuses longer names. */
const maxBlobName = 1024;

/** Blobs of others below a prefix of a container. */
export async function azureSource(options: AzureOptions, limits?: RemoteLimits): Promise<Source> {
  checkAzureOptions(options);
  const { container, prefix } = options;
  const url = `azure://${container}/${prefix}`;
  const blobs = createBlobs(options, limits, listAzureSourceMeanings(options));
  const mapErrors = createSourceErrors(url);
  const isFit = (name: string): boolean => isSourceName(name) && (prefix + name).length <= maxBlobName;
  const statBlob = async (name: string, signal?: AbortSignal): Promise<SourceObject | null> => {
    const found = await blobs.head(prefix + name, signal);
    // Accounts with a hierarchy have blobs that represent its folders.
    if (found === null || found.metadata['hdi_isfolder'] === 'true') return null;
    return { name, size: found.size, modified: found.modified, stamp: toStamp(found.etag) };
  };
  const stat = async (name: string, signal?: AbortSignal): Promise<SourceObject | null> =>
    isFit(name) ? mapErrors(() => statBlob(name, signal)) : null;
  return {
    kind: 'azure',
    url,
    stat,
    list: ({ signal, ...wanted } = {}) => mapErrors(() => listAzureSourcePage(blobs, prefix, wanted, signal)),
    open: async (name, signal) => {
      const object = await stat(name, signal);
      return object && openBlob(blobs, { url, prefix }, object, mapErrors);
    },
    presign: async (name, expiresAt, response) =>
      isFit(name)
        ? presignAzureUrl(options, blobs.urlOf(prefix + name), prefix + name, 'GET', expiresAt, response)
        : null,
    put: (name, size, bytes, signal) =>
      mapErrors.writing(async () => {
        await putNewBlob(blobs, options, name, size, bytes, signal);
        const made = await statBlob(name, signal);
        if (made === null) throw crateGoneError(url, name);
        return made;
      }),
    remove: (made) =>
      mapErrors.writing(async () => {
        if ((await statBlob(made.name))?.stamp === made.stamp) await blobs.remove(prefix + made.name);
      }),
    close: async () => blobs.close(),
  };
}

function openBlob(
  blobs: Blobs,
  { url, prefix }: { url: string; prefix: string },
  object: SourceObject,
  mapErrors: SourceErrorMapper,
): OpenSourceObject {
  const { name, size, stamp } = object;
  const remote = openRemoteObject(
    {
      broken: blobs.broken,
      getRange: async (opened, range, signal) => {
        const answer = await blobs.getRange(opened, range, signal);
        if (answer !== null) return answer;
        const found = await blobs.head(opened.name, signal);
        throw found === null ? crateGoneError(url, name) : crateChangedError(url, name);
      },
    },
    { name: prefix + name, etag: quoteStamp(stamp), size },
  );
  return { ...remote, object, read: (start, end, signal) => mapErrors.each(remote.read(start, end, signal)) };
}

/** Of a container of others, little is wanted, and it is not the one that the settings name. */
const listAzureSourceMeanings = ({ container, account }: AzureOptions): AzureErrorMeanings => ({
  ContainerNotFound: [
    'storage_failed',
    `There is no container ${container} in the account ${account}. Check the name and the account.`,
  ],
  BlobArchived: [
    'unsupported',
    'The object is in the archive tier, and cannot be read from there. Have it rehydrated first.',
  ],
});

/** A hundred million blobs; a longer listing would never end. */
const maxAzurePages = 100_000;

/** How far a listing has come: the service's own marker, and after how many pages. */
type AzureSourceCursor = readonly [page: number, marker: string];

/** A page of names that others have chosen. Their order is the service's own, so only its marker shows progress. */
async function listAzureSourcePage(
  blobs: Blobs,
  root: string,
  wanted: { prefix?: string; after?: string },
  signal?: AbortSignal,
): Promise<SourcePage> {
  const [page, marker] =
    wanted.after === undefined ? ([0, ''] as const) : (JSON.parse(wanted.after) as AzureSourceCursor);
  const query = {
    prefix: root + (wanted.prefix ?? ''),
    maxresults: '1000',
    ...(marker === '' ? {} : { marker }),
  };
  const xml = await blobs.list(query, signal);
  const next = findElementText(xml, 'NextMarker') ?? '';
  if (next !== '' && (next === marker || page === maxAzurePages))
    throw new WorkcrateError('storage_failed', 'The store lists without an end. See its log.');
  const listed = findElements(xml, 'Blob')
    .filter((blob) => !isBlobFolder(blob))
    .map(toListedBlob);
  return { ...toSourcePage(root, listed), next: next === '' ? null : JSON.stringify([page + 1, next]) };
}

/** Accounts with a hierarchy list its folders too. */
const isBlobFolder = (xml: string): boolean => findElementText(xml, 'ResourceType') === 'directory';

const toListedBlob = (xml: string): ListedSourceObject => ({
  name: readBlobName(xml),
  size: Number(findElementText(xml, 'Content-Length') ?? NaN),
  modified: Date.parse(findElementText(xml, 'Last-Modified') ?? '') || 0,
  stamp: unquoteEtag(findElementText(xml, 'Etag') ?? ''),
});

/** What XML cannot hold is encoded, and said to be. */
function readBlobName(xml: string): string | null {
  const name = findElementText(xml, 'Name');
  if (name === null || !/<Name\s[^<>]*Encoded="true"/.test(xml)) return name;
  try {
    return decodeURIComponent(name);
  } catch {
    return null;
  }
}

/**
 * Writes a new blob under a name of the caller. A taken name is refused before a byte is sent. Blocks of one that
 * failed are no blob, and are dropped by the service within a week.
 */
async function putNewBlob(
  blobs: Blobs,
  options: AzureOptions,
  name: string,
  size: number,
  bytes: AsyncIterable<Uint8Array>,
  signal?: AbortSignal,
): Promise<void> {
  checkNewName(name, options.prefix);
  const whole = options.prefix + name;
  if ((await blobs.head(whole, signal)) !== null) throw alreadyExistsError(name);
  const making = { key: name, name: whole, attempt: createAttempt(name), size };
  const { fromBlocks, fromBytes } = createBlobMaker(blobs);
  const partBytes = Math.max(options.partBytes, Math.ceil(size / (maxBlocks - 1)));
  const parts = splitIntoParts(checkExactSize(bytes, size), { partBytes, hash: 'md5', signal });
  await using _ = parts.all;
  if (size > partBytes) {
    const target = { name: whole, attempt: making.attempt, run: 1, start: 0, count: 0 };
    const { ids, failure } = await writeBlocks(blobs, target, parts);
    if (failure !== null) throw failure.error;
    await fromBlocks(making, ids);
    return;
  }
  const { bytes: body }: UploadPart = (await parts.all.next()).value;
  // There is nothing more, but it may have failed.
  await parts.all.next();
  await fromBytes(making, body);
}

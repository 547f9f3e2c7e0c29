import { createHmac, hash } from 'node:crypto';
import { WorkcrateError, type ErrorCode } from '../../../platform/errors.ts';
import {
  createRemote,
  checkDocument,
  toRefusalCause,
  type OpenedObject,
  type ObjectByteRange,
  type StoreRefusal,
  type RemoteLimits,
  type RemoteRequest,
  type StreamedAnswer,
  type WholeAnswer,
} from '../remote/remote.ts';
import type { AzureOptions } from './azure.ts';
import { parseBlocks, type StagedBlock } from './blocks.ts';

const azureApiVersion = '2023-11-03';

/** What is known of a blob without its bytes. */
export interface BlobFacts {
  readonly size: number;
  readonly modified: number;
  readonly etag: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/** A blob that was just written. */
export type WrittenBlob = Pick<BlobFacts, 'modified' | 'etag'>;

export type Metadata = Readonly<Record<string, string>>;

export type Blobs = ReturnType<typeof createBlobs>;

interface RequestParts {
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  readonly longestText?: number;
}

/** Up to 50,000 blocks that are committed and 100,000 that are not, of some 75 bytes each. */
const maxBlockListCharacters = 16 * 1024 * 1024;

/** A thousand blobs of the longest names that there are, written as long as can be. */
const maxListCharacters = 16 * 1024 * 1024;

const ifNew = { 'if-none-match': '*' };

/** The operations of the Blob service that are used here, each one request. Names are whole, prefix included. */
export function createBlobs(options: AzureOptions, limits?: RemoteLimits, meanings: AzureErrorMeanings = {}) {
  const host = new URL(options.endpoint).host;
  const where = { host, account: options.account, container: options.container, meanings };
  const remote = createRemote({
    store: host,
    sign: async (request) => signRequest(options, request),
    limits,
  });
  const requestOf = (method: RemoteRequest['method'], name: string, parts: RequestParts): RemoteRequest => ({
    method,
    url: toBlobUrl(options, name, parts.query),
    headers: parts.headers ?? {},
    body: parts.body ?? null,
    longestText: parts.longestText,
  });
  const ask = (
    method: RemoteRequest['method'],
    name: string,
    parts: RequestParts = {},
    signal?: AbortSignal,
  ): Promise<WholeAnswer> => remote.ask(requestOf(method, name, parts), signal);
  const demand = <T extends WholeAnswer | StreamedAnswer>(method: string, answer: T): T => {
    if (answer.refusal !== null) throw azureRefusedError(where, method, answer);
    return answer;
  };
  /** Null if a condition was not met. */
  const write = async (name: string, parts: RequestParts): Promise<WrittenBlob | null> => {
    const answer = await ask('PUT', name, parts);
    return isConditionUnmet(answer) ? null : toBlobFacts(demand('PUT', answer).headers);
  };

  /** Null if there is no blob, or the condition was not met. */
  const stream = async (
    name: string,
    headers: Readonly<Record<string, string>>,
    signal?: AbortSignal,
  ): Promise<StreamedAnswer | null> => {
    const answer = await remote.stream(requestOf('GET', name, { headers }), signal);
    return isAbsentBlob(answer) || isConditionUnmet(answer) ? null : demand('GET', answer);
  };

  return {
    urlOf: (name: string): URL => toBlobUrl(options, name),

    async head(name: string, signal?: AbortSignal): Promise<BlobFacts | null> {
      const answer = await ask('HEAD', name, {}, signal);
      return isAbsentBlob(answer) ? null : toBlobFacts(demand('HEAD', answer).headers);
    },

    /** An answer with a body to be read, or null if there is no blob. */
    async get(name: string): Promise<(StreamedAnswer & { readonly facts: BlobFacts }) | null> {
      const answer = await stream(name, {});
      return answer && { ...answer, facts: toBlobFacts(answer.headers) };
    },

    getRange: ({ name, etag }: OpenedObject, { start, end }: ObjectByteRange, signal?: AbortSignal) =>
      stream(name, { 'x-ms-range': `bytes=${start}-${end - 1}`, 'if-match': etag }, signal),

    /** Null if `isNew` was demanded and there is one already. */
    put: (name: string, body: Uint8Array, metadata: Metadata, isNew = false) =>
      write(name, {
        body,
        headers: {
          'x-ms-blob-type': 'BlockBlob',
          'content-md5': md5(body),
          ...toMetadataHeaders(metadata),
          ...(isNew ? ifNew : {}),
        },
      }),

    async putBlock(name: string, blockid: string, body: Uint8Array, digest?: Buffer): Promise<void> {
      const headers = { 'content-md5': digest?.toString('base64') ?? md5(body) };
      demand('PUT', await ask('PUT', name, { query: { comp: 'block', blockid }, headers, body }));
    },

    /** The blocks of a blob, committed or not. */
    async blocks(name: string): Promise<StagedBlock[]> {
      const answer = await ask('GET', name, {
        query: { comp: 'blocklist', blocklisttype: 'all' },
        longestText: maxBlockListCharacters,
      });
      return isAbsentBlob(answer) ? [] : parseBlocks(checkDocument(demand('GET', answer).text, 'BlockList'));
    },

    /** Makes the blob of these blocks. Null if `isNew` was demanded and there is one already. */
    putBlockList(name: string, ids: readonly string[], metadata: Metadata, isNew: boolean) {
      const latest = ids.map((id) => `<Latest>${id}</Latest>`).join('');
      const body = Buffer.from(`<?xml version="1.0" encoding="utf-8"?><BlockList>${latest}</BlockList>`);
      const headers = { ...toMetadataHeaders(metadata), 'content-md5': md5(body), ...(isNew ? ifNew : {}) };
      return write(name, { query: { comp: 'blocklist' }, headers, body });
    },

    /** Null if the blob does not have that etag any more. */
    setMetadata: (name: string, metadata: Metadata, etag: string) =>
      write(name, {
        query: { comp: 'metadata' },
        headers: { ...toMetadataHeaders(metadata), 'if-match': etag },
      }),

    async remove(name: string): Promise<void> {
      const answer = await ask('DELETE', name, { headers: { 'x-ms-delete-snapshots': 'include' } });
      if (!isAbsentBlob(answer)) demand('DELETE', answer);
    },

    /** One page of a listing, as XML. */
    async list(query: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<string> {
      const parts = {
        query: { restype: 'container', comp: 'list', ...query },
        longestText: maxListCharacters,
      };
      const answer = await ask('GET', '', parts, signal);
      return checkDocument(demand('GET', answer).text, 'EnumerationResults');
    },

    broken: remote.broken,
    close: remote.close,
  };
}

function toBlobUrl(
  { endpoint, container }: AzureOptions,
  name: string,
  query: RequestParts['query'] = {},
): URL {
  const path = [container, ...name.split('/')].filter((part) => part !== '').map(encodeURIComponent);
  const search = Object.entries(query).map(([key, value]) => `${key}=${encodeURIComponent(value)}`);
  return new URL(`${endpoint}/${path.join('/')}${search.length > 0 ? '?' : ''}${search.join('&')}`);
}

/** A key signs the request itself; a shared access signature goes into its URL. */
function signRequest({ account, credential }: AzureOptions, request: RemoteRequest): RemoteRequest {
  const headers: Record<string, string> = {
    ...request.headers,
    'x-ms-date': new Date().toUTCString(),
    'x-ms-version': azureApiVersion,
  };
  if ('sas' in credential) return { ...request, headers, url: appendSas(request.url, credential.sas) };
  const length = { 'content-length': `${request.body?.length ?? 0}` };
  const { method, url } = request;
  const authorization = createSharedKeyAuthorization({ account, key: credential.key }, method, url, {
    ...headers,
    ...length,
  });
  return { ...request, headers: { ...headers, authorization } };
}

function appendSas(url: URL, sas: string): URL {
  const further = new URL(url);
  further.search = [url.search.slice(1), sas.replace(/^\?/, '')].filter((part) => part !== '').join('&');
  return further;
}

const md5 = (bytes: Uint8Array): string => hash('md5', bytes, 'base64');

const toMetadataHeaders = (metadata: Metadata): Record<string, string> =>
  Object.fromEntries(Object.entries(metadata).map(([name, value]) => [`x-ms-meta-${name}`, value]));

function toBlobFacts(headers: WholeAnswer['headers']): BlobFacts {
  const own = Object.entries(headers).filter(([name]) => name.startsWith('x-ms-meta-'));
  return {
    size: Number(headers['content-length'] ?? 0),
    modified: Date.parse(headers['last-modified'] ?? '') || 0,
    etag: headers.etag ?? '',
    metadata: Object.fromEntries(
      own.map(([name, value]) => [name.slice('x-ms-meta-'.length), String(value)]),
    ),
  };
}

export interface AzureAccount {
  readonly account: string;
  /** In base64. */
  readonly key: string;
}

/** These headers are signed by their values alone, in this order. */
const signedByPlace = [
  'content-encoding',
  'content-language',
  'content-length',
  'content-md5',
  'content-type',
  'date',
  'if-modified-since',
  'if-match',
  'if-none-match',
  'if-unmodified-since',
  'range',
];

/** The Authorization header of a request; `headers` are all it will have, their names in lower case. */
export function createSharedKeyAuthorization(
  { account, key }: AzureAccount,
  method: string,
  url: URL,
  headers: Readonly<Record<string, string>>,
): string {
  const placed = signedByPlace.map((name) => valueToSign(name, headers[name] ?? ''));
  const text = [method, ...placed, ...listAzureHeaders(headers), toCanonicalResource(account, url)].join(
    '\n',
  );
  return `SharedKey ${account}:${hmac(key, text)}`;
}

export const hmac = (key: string, text: string): string =>
  createHmac('sha256', Buffer.from(key, 'base64')).update(text, 'utf8').digest('base64');

const valueToSign = (name: string, value: string): string =>
  name === 'content-length' && value === '0' ? '' : value;

function listAzureHeaders(headers: Readonly<Record<string, string>>): string[] {
  const names = Object.keys(headers).filter((name) => name.startsWith('x-ms-'));
  return names.sort().map((name) => `${name}:${headers[name]!.trim()}`);
}

/** If the account is in the path already, it is there twice: the service wants it so. */
function toCanonicalResource(account: string, url: URL): string {
  const names = [...new Set(url.searchParams.keys())].sort();
  const query = names.map(
    (name) => `\n${name.toLowerCase()}:${url.searchParams.getAll(name).sort().join(',')}`,
  );
  return `/${account}${url.pathname}${query.join('')}`;
}

/** Error codes of the service, with our code and a message that says what to do. */
export type AzureErrorMeanings = Readonly<Record<string, readonly [ErrorCode, string]>>;

export interface AzureLocation {
  readonly host: string;
  readonly account: string;
  readonly container: string;
  /** What refusals mean if the container is not the storage of this server. */
  readonly meanings: AzureErrorMeanings;
}

interface RefusedAnswer {
  readonly refusal: StoreRefusal | null;
  readonly headers: { readonly date?: string | undefined };
}

/** Whether the answer says that there is no such blob, and not that there is no such container. */
const isAbsentBlob = ({ refusal }: RefusedAnswer): boolean =>
  refusal?.status === 404 && refusal.code !== 'ContainerNotFound';

/** Whether a condition of the request was not met, such as that the blob does not exist yet. */
const isConditionUnmet = ({ refusal }: RefusedAnswer): boolean =>
  refusal?.status === 412 || (refusal?.status === 409 && refusal.code === 'BlobAlreadyExists');

/** What a refusal means for the operator; the answer of the service is only in the cause. */
function azureRefusedError(
  where: AzureLocation,
  method: string,
  { refusal, headers }: RefusedAnswer,
): WorkcrateError {
  const [code, message] = explainAzureRefusal(where, method, refusal!, headers.date);
  return new WorkcrateError(code, message, { cause: toRefusalCause(where.host, refusal!) });
}

function explainAzureRefusal(
  where: AzureLocation,
  method: string,
  refusal: StoreRefusal,
  date: string | undefined,
): readonly [ErrorCode, string] {
  const { status, code } = refusal;
  const meant = where.meanings[code];
  if (meant !== undefined) return meant;
  const store = `The store ${where.host}`;
  if (code === 'ContainerNotFound')
    return [
      'storage_failed',
      `There is no container ${where.container} in the account ${where.account}. Make it, or name another with --azure-container.`,
    ];
  if (status === 401 || status === 403) return explainDeniedAccess(where, method, code, date);
  if (status >= 500 || status === 429)
    return ['storage_failed', `${store} fails or is overloaded (${status} ${code}). Try again later.`];
  return [
    'storage_failed',
    `${store} refused a request (${status} ${code}). The log of the server says which.`,
  ];
}

function explainDeniedAccess(
  where: AzureLocation,
  method: string,
  code: string,
  date: string | undefined,
): [ErrorCode, string] {
  const minutes = countMinutesOff(date);
  if (minutes > 5)
    return [
      'storage_failed',
      `The clock of this machine is ${minutes} minutes off that of the store ${where.host}, so the store refuses our signatures. Set the clock right.`,
    ];
  if (/Permission|Insufficient|Mismatch/.test(code))
    return [
      method === 'GET' || method === 'HEAD' ? 'storage_failed' : 'storage_read_only',
      `The credential for the account ${where.account} may not do this (${code}). It needs to read, create, write, delete and list blobs in ${where.container}.`,
    ];
  return [
    'storage_failed',
    `The store ${where.host} does not accept the credential for the account ${where.account}. Check AZURE_STORAGE_KEY, whether the shared access signature has expired, and the network rules of the account.`,
  ];
}

function countMinutesOff(date: string | undefined): number {
  const off = Math.abs(Date.parse(date ?? '') - Date.now());
  return Number.isFinite(off) ? Math.round(off / 60_000) : 0;
}

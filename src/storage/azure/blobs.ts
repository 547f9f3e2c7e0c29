import { hash } from 'node:crypto';
import {
  createRemote,
  demandDocument,
  type Opened,
  type Range,
  type RemoteLimits,
  type RemoteRequest,
  type StreamedAnswer,
  type WholeAnswer,
} from '../remote/remote.ts';
import type { AzureOptions } from './azure.ts';
import { parseBlocks, type Block } from './blocks.ts';
import { isAbsent, isUnmet, refused, type Meanings } from './refusals.ts';
import { sharedKeyAuthorization } from './shared-key.ts';

const version = '2023-11-03';

/** What is known of a blob without its bytes. */
export interface BlobFacts {
  readonly size: number;
  readonly modified: number;
  readonly etag: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/** A blob that was just written. */
export type Written = Pick<BlobFacts, 'modified' | 'etag'>;

export type Metadata = Readonly<Record<string, string>>;

export type Blobs = ReturnType<typeof createBlobs>;

interface Parts {
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  readonly longestText?: number;
}

/** Up to 50,000 blocks that are committed and 100,000 that are not, of some 75 bytes each. */
const longestBlockList = 16 * 1024 * 1024;

/** A thousand blobs of the longest names that there are, written as long as can be. */
const longestList = 16 * 1024 * 1024;

const ifNew = { 'if-none-match': '*' };

/** The operations of the Blob service that are used here, each one request. Names are whole, prefix included. */
export function createBlobs(options: AzureOptions, limits?: RemoteLimits, meanings: Meanings = {}) {
  const host = new URL(options.endpoint).host;
  const where = { host, account: options.account, container: options.container, meanings };
  const remote = createRemote({ store: host, sign: async (request) => signed(options, request), limits });
  const requestOf = (method: RemoteRequest['method'], name: string, parts: Parts): RemoteRequest => ({
    method,
    url: urlOf(options, name, parts.query),
    headers: parts.headers ?? {},
    body: parts.body ?? null,
    longestText: parts.longestText,
  });
  const ask = (
    method: RemoteRequest['method'],
    name: string,
    parts: Parts = {},
    signal?: AbortSignal,
  ): Promise<WholeAnswer> => remote.ask(requestOf(method, name, parts), signal);
  const demand = <T extends WholeAnswer | StreamedAnswer>(method: string, answer: T): T => {
    if (answer.refusal !== null) throw refused(where, method, answer);
    return answer;
  };
  /** Null where a condition did not hold. */
  const write = async (name: string, parts: Parts): Promise<Written | null> => {
    const answer = await ask('PUT', name, parts);
    return isUnmet(answer) ? null : factsOf(demand('PUT', answer).headers);
  };

  /** Null where there is no blob, or none of which the condition holds. */
  const stream = async (
    name: string,
    headers: Readonly<Record<string, string>>,
    signal?: AbortSignal,
  ): Promise<StreamedAnswer | null> => {
    const answer = await remote.stream(requestOf('GET', name, { headers }), signal);
    return isAbsent(answer) || isUnmet(answer) ? null : demand('GET', answer);
  };

  return {
    urlOf: (name: string): URL => urlOf(options, name),

    async head(name: string, signal?: AbortSignal): Promise<BlobFacts | null> {
      const answer = await ask('HEAD', name, {}, signal);
      return isAbsent(answer) ? null : factsOf(demand('HEAD', answer).headers);
    },

    /** An answer with a body to be read, or null where there is no blob. */
    async get(name: string): Promise<(StreamedAnswer & { readonly facts: BlobFacts }) | null> {
      const answer = await stream(name, {});
      return answer && { ...answer, facts: factsOf(answer.headers) };
    },

    getRange: ({ name, etag }: Opened, { start, end }: Range, signal?: AbortSignal) =>
      stream(name, { 'x-ms-range': `bytes=${start}-${end - 1}`, 'if-match': etag }, signal),

    /** Null where `isNew` was asked for and there is one already. */
    put: (name: string, body: Uint8Array, metadata: Metadata, isNew = false) =>
      write(name, {
        body,
        headers: {
          'x-ms-blob-type': 'BlockBlob',
          'content-md5': md5(body),
          ...asHeaders(metadata),
          ...(isNew ? ifNew : {}),
        },
      }),

    async putBlock(name: string, blockid: string, body: Uint8Array, digest?: Buffer): Promise<void> {
      const headers = { 'content-md5': digest?.toString('base64') ?? md5(body) };
      demand('PUT', await ask('PUT', name, { query: { comp: 'block', blockid }, headers, body }));
    },

    /** The blocks of a blob, committed or not. */
    async blocks(name: string): Promise<Block[]> {
      const answer = await ask('GET', name, {
        query: { comp: 'blocklist', blocklisttype: 'all' },
        longestText: longestBlockList,
      });
      return isAbsent(answer) ? [] : parseBlocks(demandDocument(demand('GET', answer).text, 'BlockList'));
    },

    /** Makes the blob of these blocks. Null where `isNew` was asked for and there is one already. */
    putBlockList(name: string, ids: readonly string[], metadata: Metadata, isNew: boolean) {
      const latest = ids.map((id) => `<Latest>${id}</Latest>`).join('');
      const body = Buffer.from(`<?xml version="1.0" encoding="utf-8"?><BlockList>${latest}</BlockList>`);
      const headers = { ...asHeaders(metadata), 'content-md5': md5(body), ...(isNew ? ifNew : {}) };
      return write(name, { query: { comp: 'blocklist' }, headers, body });
    },

    /** Null where the blob is not the one with that etag any more. */
    setMetadata: (name: string, metadata: Metadata, etag: string) =>
      write(name, { query: { comp: 'metadata' }, headers: { ...asHeaders(metadata), 'if-match': etag } }),

    async remove(name: string): Promise<void> {
      const answer = await ask('DELETE', name, { headers: { 'x-ms-delete-snapshots': 'include' } });
      if (!isAbsent(answer)) demand('DELETE', answer);
    },

    /** One page of a listing, as XML. */
    async list(query: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<string> {
      const parts = {
        query: { restype: 'container', comp: 'list', ...query },
        longestText: longestList,
      };
      const answer = await ask('GET', '', parts, signal);
      return demandDocument(demand('GET', answer).text, 'EnumerationResults');
    },

    broken: remote.broken,
    close: remote.close,
  };
}

function urlOf({ endpoint, container }: AzureOptions, name: string, query: Parts['query'] = {}): URL {
  const path = [container, ...name.split('/')].filter((part) => part !== '').map(encodeURIComponent);
  const search = Object.entries(query).map(([key, value]) => `${key}=${encodeURIComponent(value)}`);
  return new URL(`${endpoint}/${path.join('/')}${search.length > 0 ? '?' : ''}${search.join('&')}`);
}

/** A key signs the request itself; a shared access signature goes into its URL. */
function signed({ account, credential }: AzureOptions, request: RemoteRequest): RemoteRequest {
  const headers: Record<string, string> = {
    ...request.headers,
    'x-ms-date': new Date().toUTCString(),
    'x-ms-version': version,
  };
  if ('sas' in credential) return { ...request, headers, url: withQuery(request.url, credential.sas) };
  const length = { 'content-length': `${request.body?.length ?? 0}` };
  const { method, url } = request;
  const authorization = sharedKeyAuthorization({ account, key: credential.key }, method, url, {
    ...headers,
    ...length,
  });
  return { ...request, headers: { ...headers, authorization } };
}

function withQuery(url: URL, sas: string): URL {
  const further = new URL(url);
  further.search = [url.search.slice(1), sas.replace(/^\?/, '')].filter((part) => part !== '').join('&');
  return further;
}

const md5 = (bytes: Uint8Array): string => hash('md5', bytes, 'base64');

const asHeaders = (metadata: Metadata): Record<string, string> =>
  Object.fromEntries(Object.entries(metadata).map(([name, value]) => [`x-ms-meta-${name}`, value]));

function factsOf(headers: WholeAnswer['headers']): BlobFacts {
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

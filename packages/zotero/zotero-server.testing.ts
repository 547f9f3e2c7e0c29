import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createLog } from '../../src/platform/observability/log.ts';
import { openZotero } from './zotero.ts';

export const key = 'sEcReTkEyOfTheWebApi1234';

export interface StoredItem {
  key: string;
  version: number;
  data: Record<string, unknown>;
  csljson?: unknown;
  bibtex?: string;
}

export interface Asked {
  readonly url: URL;
  readonly headers: IncomingHttpHeaders;
  status: number;
}

/** Takes a request before the API does; true where it is answered. `count` is 1 for the first. */
export type Trouble = (asked: Asked, response: ServerResponse, count: number) => boolean;

interface Given {
  readonly library?: string;
  readonly isLocal?: boolean;
  readonly items?: StoredItem[];
  readonly collections?: unknown[];
  readonly timeoutMs?: number;
  readonly trouble?: Trouble;
  readonly clock?: () => number;
}

/** An API as its documentation describes it, on the web or by a Zotero on this machine, and a library opened on it. */
export async function serveZotero(given: Given = {}) {
  const {
    isLocal = false,
    library = isLocal ? 'users/0' : 'users/475425',
    items = [],
    collections = [],
  } = given;
  const state = {
    version: 10,
    items,
    collections,
    trouble: given.trouble ?? (() => false),
    atOnce: 0,
    mostAtOnce: 0,
  };
  const asked: Asked[] = [];
  const logged: string[] = [];

  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    const url = new URL(request.url!, `http://${request.headers.host}`);
    const one: Asked = { url, headers: request.headers, status: 0 };
    asked.push(one);
    state.mostAtOnce = Math.max(state.mostAtOnce, ++state.atOnce);
    response.on('close', () => (one.status = response.statusCode));
    if (!state.trouble(one, response, asked.length)) answer(one, response);
  };

  const answer = (one: Asked, response: ServerResponse): void => {
    // Once it has the answer, the client may ask again, and it may do so before we hear that all was sent.
    state.atOnce--;
    const { url, headers } = one;
    const says = (status: number, text: string): void =>
      void response.writeHead(status, { 'Content-Type': 'text/plain', 'Zotero-API-Version': '3' }).end(text);
    if (headers['zotero-api-version'] !== '3') return says(501, 'API version not implemented');
    if (!isLocal && headers['zotero-api-key'] !== key)
      return says(403, `Invalid key ${String(headers['zotero-api-key'])}`);
    const prefix = `${isLocal ? '/api' : ''}/${library}/`;
    if (!url.pathname.startsWith(prefix)) return says(404, 'Not found');
    const listed = listOf(url.pathname.slice(prefix.length), url.searchParams);
    if (typeof listed === 'number') return says(listed, 'No');
    send(one, listed, response);
  };

  function listOf(path: string, params: URLSearchParams): unknown[] | number {
    if (path === 'collections') return state.collections;
    const inside = /^collections\/([A-Z0-9]{8})\/items\/top$/.exec(path)?.[1];
    if (inside === undefined && path !== 'items' && path !== 'items/top') return 404;
    const exists = state.collections.some((one) => (one as { key: string }).key === inside);
    if (inside !== undefined && !exists) return isLocal ? [] : 404;
    const types = params.getAll('itemType');
    const keys = params.get('itemKey')?.split(',') ?? null;
    if ((!isLocal && types.length > 1) || (keys?.length ?? 0) > 50) return 400;
    return state.items
      .filter((item) => keys === null || keys.includes(item.key))
      .filter(({ data }) => inside === undefined || (data['collections'] as string[]).includes(inside))
      .filter(({ data }) => !path.endsWith('/top') || data['parentItem'] === undefined)
      .filter(({ data }) => types.every((type) => fitsType(String(data['itemType']), type)))
      .filter(({ version }) => version > Number(params.get('since') ?? -1))
      .filter(({ data }) =>
        String(data['title'])
          .toLowerCase()
          .includes((params.get('q') ?? '').toLowerCase()),
      )
      .filter(({ data }) => !params.has('tag') || JSON.stringify(data['tags']).includes(params.get('tag')!))
      .map((item) => written(item, (params.get('include') ?? 'data').split(',')));
  }

  /** Without is for all types together on the web; here, for one of them. */
  function fitsType(type: string, wanted: string): boolean {
    const isWithout = wanted.startsWith('-');
    const types = wanted.slice(isWithout ? 1 : 0).split(' || ');
    if (!isWithout) return types.includes(type);
    return isLocal ? types.some((one) => one !== type) : !types.includes(type);
  }

  function written({ key, version, data, csljson, bibtex }: StoredItem, include: readonly string[]): unknown {
    const csl = isLocal ? JSON.stringify([csljson]) : csljson;
    return {
      key,
      version,
      library: { type: 'user', id: 475425, name: 'Somebody', links: {} },
      meta: { creatorSummary: 'Doe', parsedDate: '2020-05-01', numChildren: 0 },
      ...(include.includes('data') ? { data: { key, version, ...data } } : {}),
      ...(include.includes('csljson') ? { csljson: csl } : {}),
      ...(include.includes('bibtex') ? { bibtex } : {}),
    };
  }

  function send({ url, headers }: Asked, listed: readonly unknown[], response: ServerResponse): void {
    const known = Number(headers['if-modified-since-version'] ?? 0);
    const start = Number(url.searchParams.get('start') ?? 0);
    const wanted = Number(url.searchParams.get('limit') ?? (isLocal ? listed.length : 25));
    const limit = isLocal ? wanted : Math.min(100, wanted);
    const next = new URL(url);
    next.searchParams.set('start', String(start + limit));
    const told = {
      'Zotero-API-Version': '3',
      'Last-Modified-Version': String(state.version),
      'Total-Results': String(listed.length),
      ...(start + limit < listed.length ? { Link: `<${next.href}>; rel="next"` } : {}),
    };
    if (known !== 0 && state.version <= known) return void response.writeHead(304, told).end();
    response.writeHead(200, { ...told, 'Content-Type': 'application/json' });
    response.end(JSON.stringify(listed.slice(start, start + limit)));
  }

  const server = createServer(handle).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const url = `${origin}${isLocal ? '/api' : ''}`;
  const zotero = openZotero({
    url,
    library,
    key,
    timeoutMs: given.timeoutMs ?? 2000,
    clock: given.clock ?? Date.now,
    log: createLog('debug', (line) => void logged.push(line)),
  });
  return {
    url,
    zotero,
    /** As the API does, for trouble that only held a request back. */
    answer,
    state,
    asked,
    logged,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** An article with the given number, cited as `doeN` by its extra field. */
export function article(number: number, more: Record<string, unknown> = {}): StoredItem {
  const title = `Article ${number}`;
  return {
    key: keyOf(number),
    version: 5,
    data: {
      itemType: 'journalArticle',
      title,
      creators: [{ creatorType: 'author', firstName: 'Jane', lastName: 'Doe' }],
      date: '2020-05',
      DOI: `10.1234/${number}`,
      url: 'https://example.org/paper',
      extra: `tex.ids: old\nCitation Key: doe${number}`,
      tags: [{ tag: 'read' }],
      collections: [],
      ...more,
    },
    csljson: {
      id: `475425/${keyOf(number)}`,
      type: 'article-journal',
      title,
      author: [{ family: 'Doe', given: 'Jane' }],
      issued: { 'date-parts': [['2020', 5]] },
      note: `Citation Key: doe${number}`,
    },
    bibtex: `\n@article{doe_article_2020,\n\ttitle = {${title}},\n\tauthor = {Doe, Jane},\n}\n`,
  };
}

export const keyOf = (number: number): string => `ITEM${String(number).padStart(4, '0')}`;

export const articles = (count: number, more: Record<string, unknown> = {}): StoredItem[] =>
  Array.from({ length: count }, (_, at) => article(at, more));

export const collection = (key: string, name: string, parentCollection: string | false = false): unknown => ({
  key,
  version: 1,
  meta: { numCollections: 0, numItems: 3 },
  data: { key, version: 1, name, parentCollection, relations: {} },
});

export const patient = (): AbortSignal => AbortSignal.timeout(60_000);

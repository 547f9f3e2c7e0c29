import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { crc32 } from 'node:zlib';
import { openDatabase } from '../../ports/database/open.ts';
import { asWorkcrateError, WorkcrateError } from '../../platform/errors.ts';
import { createFiles } from '../files/files.ts';
import { createLocalFiles } from '../files/local-files.ts';
import { answerError } from '../../platform/http/answer.ts';
import { meterLinks } from '../../server/instrumentation/instrumentation.ts';
import { createLog } from '../../platform/observability/log.ts';
import { createMetrics } from '../../platform/observability/metrics.ts';
import { memoryStorage } from '../../ports/storage/memory.ts';
import type { OpenObject } from '../../ports/storage/storage.ts';
import { createPreviews } from '../../platform/previews/previews.ts';
import { createDownloadRoute, type ServedDownload } from './download-route.ts';
import { toObjectDownload, type ObjectStretch } from './download.ts';
import { bytesGoneError, type LinkTerms } from './link.ts';
import { createLinks, createUploads } from './links.ts';
import { openUploads } from './open-uploads.ts';
import { bindTool } from '../offer/tool.ts';
import { declareLinkTools } from './tools.ts';

const quotas = { userBytes: 1e9, userFiles: 1e6, totalBytes: 1e9, totalFiles: 1e6 };

/** Something in the memory of a test, which links can point to. What a field says is so from then on. */
export interface Thing {
  bytes: Buffer;
  version: string;
  /** Where in the object it stands: in the middle of other bytes. */
  readonly before: number;
  crc32: number | null;
  sha256?: string;
  presign?: ObjectStretch['presign'];
  /** How often bytes were asked for, and whether it is held open. */
  reads: number;
  opened: number;
  unreachable: 'no' | 'found' | 'opened';
}

export const thing = (text: string, more: Partial<Thing> = {}): Thing => {
  const bytes = Buffer.from(text);
  const usual = { version: '"1"', before: 7, crc32: crc32(bytes), unreachable: 'no' } as const;
  return { bytes, ...usual, reads: 0, opened: 0, ...more };
};

/** The room behind a real HTTP server, with things elsewhere that can change, vanish and be out of reach. */
export async function openElsewhere(things: Map<string, Thing>) {
  await using opened = new AsyncDisposableStack();
  const database = opened.adopt(await openDatabase(':memory:'), (it) => it.close());
  const [metrics, log, clock] = [createMetrics(), createLog('off'), Date.now];
  const ground = { database, storage: memoryStorage(), clock, log };
  const files = createFiles({ ...ground, openUploads, quotas, maxFileSize: 1e6 });
  const externalTargets = { download: async (reference: string) => describe(things.get(reference)) };
  const rooms = { ...ground, files, uploadTtl: 60, maxBundleFiles: 10, externalTargets };
  const links = meterLinks(createLinks(rooms), metrics);
  const ended: (string | null)[] = [];
  const given: ServedDownload[] = [];
  const answer = createDownloadRoute({
    links,
    metrics,
    log,
    idleMs: 5000,
    completed: async (_link, { sha256 }) => void ended.push(sha256),
    served: (_link, _download, served) => void given.push(served),
    offload: null,
    previews: opened.use(createPreviews({ log })),
  });
  const server = createServer((req, res) => {
    answer(req, res, req.url!.slice('/files/'.length)).catch((error: unknown) =>
      res.headersSent || res.destroyed ? res.destroy() : answerError(res, asWorkcrateError(error)),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  opened.defer(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  opened.defer(() => links.flush());
  const uploads = createUploads(rooms);
  const localFiles = createLocalFiles({ files, roots: [], log });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const room = { ...rooms, links, uploads, localFiles, baseUrl: () => url };
  const tools = declareLinkTools({ fileTtl: 60, maxTtl: 60 }).map((tool) => bindTool(tool, room));
  const all = opened.move();
  return {
    links,
    metrics,
    ended,
    given,
    tools,
    url,
    async share(reference: string, terms: Partial<LinkTerms> = {}) {
      const given = { ttlSeconds: 60, singleUse: false, ...terms };
      const shared = await links.shareExternalTarget({ user: 'ada' }, reference, given);
      return { ...shared, url: `${url}/files/${shared.token}` };
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

function describe(it: Thing | undefined) {
  if (it === undefined) throw bytesGoneError();
  if (it.unreachable === 'found') throw unreachable();
  const { bytes, version, before, crc32, sha256 = null, presign } = it;
  return toObjectDownload({
    filename: 'data.csv',
    mediaType: 'text/csv',
    modified: 1_700_000_000_000,
    sha256,
    version,
    crc32,
    start: before,
    end: before + bytes.length,
    ...(presign === undefined ? {} : { presign }),
    object: async () => openThing(it, version),
  });
}

function openThing(it: Thing, version: string): OpenObject {
  if (it.unreachable === 'opened') throw unreachable();
  if (it.version !== version) throw bytesGoneError();
  it.opened++;
  const around = Buffer.concat([Buffer.alloc(it.before, '<'), it.bytes, Buffer.from('>>>')]);
  return {
    size: around.length,
    descriptor: null,
    async *read(start, end, signal) {
      it.reads++;
      for (let at = start; at < end; at += 1000) {
        signal?.throwIfAborted();
        yield around.subarray(at, Math.min(at + 1000, end));
      }
    },
    [Symbol.asyncDispose]: async () => void it.opened--,
  };
}

function unreachable(): WorkcrateError {
  return new WorkcrateError('source_unreachable', 'The source does not answer. Try again.');
}

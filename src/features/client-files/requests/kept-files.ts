/**
 * Files that came whole: compared with what was said of them, put into the cache, and found there again. Those too large
 * for memory stay stored. How old one may be is decided in `read.ts`.
 */
import { hash } from 'node:crypto';
import type { StoredFile } from '../../../core/files/files.ts';
import { collectBytes, type CollectLimit } from '../../../platform/streams.ts';
import type { CacheEntry, ClientCache, NewCacheEntry, WantedEntry } from '../cache/cache.ts';
import type { ClientFile } from '../client-file.ts';
import { tooLargeForMethodError } from './failures.ts';
import type { AnswerSource, RequestCall, UseAnswer } from './file-request.ts';
import { checkSame, findDifference } from './list.ts';
import type { KeptFile } from './pending-uploads.ts';

/** A file of the client's, and whether it was remembered. */
export interface ReadClientFile extends ClientFile {
  readonly cached: boolean;
  /** When it came, or was last seen to be unchanged, in milliseconds. */
  readonly receivedAt: number;
  /** In which its text surely is; null where nobody knows. */
  readonly encoding: string | null;
  /** Where the server opened it itself. */
  readonly localPath: string | null;
}

export type FoundFile = ReadClientFile | LargeFile;

export interface FileKeeperOptions {
  readonly cache: ClientCache;
  /** A file of more is not held in memory. */
  readonly mostBytes: number;
}

export function createFileKeeper({ cache, mostBytes }: FileKeeperOptions) {
  /** Only what came whole and is what it was said to be gets here. */
  function keep(
    { request, context }: RequestCall,
    bytes: Uint8Array,
    { mtime, mark }: Pick<NewCacheEntry, 'mtime' | 'mark'>,
    source: AnswerSource,
  ): ReadClientFile {
    const file = {
      path: request.path.relative,
      bytes,
      mtime,
      sha256: hash('sha256', bytes, 'hex'),
      rung: source.rung,
      encoding: source.encoding,
      receivedAt: source.receivedAt,
    };
    checkSame({ size: bytes.length, sha256: file.sha256 }, request);
    checkSame({ size: bytes.length, sha256: file.sha256 }, source);
    const isRemembered = cache.put(context.caller.user, request.projectKey, { ...file, mark });
    // Else it would have to be sent again.
    if (!isRemembered) source.stored?.keep();
    return { ...file, cached: false, localPath: null };
  }

  /** If size or sha256 differ from what the caller said, it is an older copy and is dropped. */
  function findRemembered({ request, context }: RequestCall, wanted: WantedEntry): CacheEntry | null {
    const { user } = context.caller;
    const { projectKey, path } = request;
    const entry = cache.get(user, projectKey, path.relative, wanted);
    if (entry === null || findDifference(entry, request) === null) return entry;
    cache.forgetPath(user, projectKey, path.relative);
    return null;
  }

  /** By another call for the same, or by guide_cache_file while the model was being asked. */
  function findNewer({ request, context }: RequestCall, since: number): ReadClientFile | null {
    const entry = cache.peek(context.caller.user, request.projectKey, request.path.relative);
    if (entry === null || entry.receivedAt < since || findDifference(entry, request) !== null) return null;
    return { ...toReadFile(entry), cached: false };
  }

  const toUseAnswer =
    (call: RequestCall): UseAnswer<FoundFile> =>
    async (chunks, source) => {
      if ((source.stored?.file.size ?? 0) > mostBytes) {
        cache.forgetPath(call.context.caller.user, call.request.projectKey, call.request.path.relative);
        return keepLargeFile(call, source);
      }
      const bytes = await collectBytes(chunks, toCollectLimit(mostBytes, call.request));
      return keep(call, bytes, { mtime: null }, source);
    };

  return { keep, findRemembered, findNewer, toUseAnswer };
}

export const toReadFile = ({
  path,
  bytes,
  mtime,
  sha256,
  rung,
  encoding,
  receivedAt,
}: CacheEntry): ReadClientFile => ({
  path,
  bytes,
  mtime,
  sha256,
  rung,
  encoding,
  receivedAt,
  cached: true,
  localPath: null,
});

export const toCollectLimit = (most: number, { path }: RequestCall['request']): CollectLimit => ({
  limit: most,
  tooLong: () => tooLargeForMethodError('reading', path.relative, most),
});

/** A file that is too large for memory: it is stored, for a while. */
export interface LargeFile extends Omit<ReadClientFile, 'bytes'> {
  readonly stored: StoredFile;
}

/** Large files stay where they were sent to, and later calls find them there, at any server. */
function keepLargeFile(call: RequestCall, { rung, stored, receivedAt }: AnswerSource): LargeFile {
  const { file, keep } = stored!;
  checkSame(file, call.request);
  keep();
  return { ...toLargeFile(call, { file, rung: rung as KeptFile['rung'], receivedAt }), cached: false };
}

/** One of these later calls; null where the file is said to be another by now. */
export const toKeptFile = (call: RequestCall, kept: KeptFile): LargeFile | null =>
  findDifference(kept.file, call.request) !== null ? null : toLargeFile(call, kept);

const toLargeFile = ({ request }: RequestCall, { file, rung, receivedAt }: KeptFile): LargeFile => ({
  path: request.path.relative,
  rung,
  receivedAt,
  localPath: null,
  mtime: null,
  sha256: file.sha256,
  encoding: null,
  cached: true,
  stored: file,
});

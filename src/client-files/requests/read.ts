/**
 * Reads a file of the client: what was uploaded, what is cached, what can be opened here, else the client is asked. It
 * compares size and sha256, and writes the audit lines of reads and lists. Paths were checked in `requests.ts`.
 */
import { hash } from 'node:crypto';
import type { Audit } from '../../audit/audit.ts';
import { asWorkcrateError } from '../../errors.ts';
import type { StoredFile } from '../../files/files.ts';
import type { Question, ToolContext } from '../../mcp/tool.ts';
import { readOpenFile, type OpenFile } from '../../paths/paths.ts';
import { collectBytes, type CollectLimit } from '../../streams.ts';
import type { CacheEntry, ClientCache, NewCacheEntry } from '../cache/cache.ts';
import type { ClientFile, ArrivalMethod } from '../client-file.ts';
import { normalizeEncoding } from '../text/text.ts';
import { openDirectly } from './direct.ts';
import { clientRefusedError, notAFileError, tooLargeForMethodError } from './failures.ts';
import {
  isInstructions,
  type ClientInstructions,
  type AnswerSource,
  type RequestCall,
  type UseAnswer,
} from './file-request.ts';
import { requireSame, findDifference } from './list.ts';
import type { FileMethods } from './methods.ts';
import type { KeptFile } from './pending-uploads.ts';
import type { PreparedRequest, ClientRequests, ReadFileOptions } from './requests.ts';

/** A file of the client's, and whether it was remembered. */
export interface ReadFile extends ClientFile {
  readonly cached: boolean;
  /** In which its text surely is; null where nobody knows. */
  readonly encoding: string | null;
}

export type FoundFile = ReadFile | LargeFile;

export interface ReadRequestOptions {
  readonly methods: FileMethods;
  readonly requests: ClientRequests;
  readonly cache: ClientCache;
  readonly mostBytes: number;
  readonly timeoutMs: number;
}

/** Reads a file of the client's: what was sent, what is remembered, what can be read here, else it is asked for. */
export function createFileReader({ methods, requests, cache, mostBytes, timeoutMs }: ReadRequestOptions) {
  /** Only what came whole and is what it was said to be gets here. */
  function keep(
    { request, context }: RequestCall,
    bytes: Uint8Array,
    { mtime, mark }: Pick<NewCacheEntry, 'mtime' | 'mark'>,
    source: AnswerSource,
  ): ReadFile {
    const file = {
      path: request.path.relative,
      bytes,
      mtime,
      sha256: hash('sha256', bytes, 'hex'),
      rung: source.rung,
      encoding: source.encoding,
    };
    requireSame({ size: bytes.length, sha256: file.sha256 }, request);
    requireSame({ size: bytes.length, sha256: file.sha256 }, source);
    const isRemembered = cache.put(context.caller.user, request.projectKey, { ...file, mark });
    // Else it would have to be sent again.
    if (!isRemembered) source.stored?.keep();
    return { ...file, cached: false };
  }

  /** If size or sha256 differ from what the caller said, it is an older copy and is dropped. */
  function remembered({ request, context }: RequestCall, mtime: number | null = null): CacheEntry | null {
    const { user } = context.caller;
    const { projectKey, path } = request;
    const entry = cache.get(user, projectKey, path.relative, { mtime });
    if (entry === null || findDifference(entry, request) === null) return entry;
    cache.forgetPath(user, projectKey, path.relative);
    return null;
  }

  /** By another call for the same, or by guide_cache_file while the model was being asked. */
  function cameSince({ request, context }: RequestCall, since: number): ReadFile | null {
    const entry = cache.peek(context.caller.user, request.projectKey, request.path.relative);
    if (entry === null || entry.storedAt < since || findDifference(entry, request) !== null) return null;
    return { ...toReadFile(entry), cached: false };
  }

  async function readDirectly({ call, policy }: PreparedRequest, refresh: boolean): Promise<ReadFile> {
    const { request } = call;
    using file = openDirectly(request, policy);
    const { size } = file.stats;
    const mtime = Math.trunc(file.stats.mtimeMs);
    const entry = refresh ? null : remembered(call, mtime);
    if (entry?.mark === toFileMark(file)) return toReadFile(entry);
    if (size > mostBytes) throw tooLargeForMethodError('reading', request.path.relative, mostBytes);
    const bytes = await collectBytes(readOpenFile(file), toCollectLimit(mostBytes, request));
    return keep(call, bytes, { mtime, mark: toFileMark(file) }, { ...nothingAnnounced, rung: 'direct' });
  }

  async function answered(
    prepared: PreparedRequest,
    use: UseAnswer<FoundFile>,
  ): Promise<FoundFile | Question> {
    const { call, state } = prepared;
    const meanwhile = () => cameSince(call, state!.until - timeoutMs);
    const came = (await methods.answered(call, state!, { use, meanwhile })) ?? meanwhile();
    if (came === null) throw clientRefusedError(call.request.path.relative, 'the answer holds no file');
    // Whether a model types the file or hands it to guide_cache_file.
    return 'ask' in came || state!.rung !== 'sampling' ? came : { ...came, rung: 'sampling' };
  }

  /** `otherwise` says what is done where nobody has it. */
  async function read<T>(
    input: ReadFileOptions,
    context: ToolContext,
    otherwise: (prepared: PreparedRequest) => Promise<T>,
  ): Promise<FoundFile | Question | T> {
    const { binary = false, encoding, size = null, sha256 = null, refresh = false } = input;
    const terms = { binary, size, sha256: sha256?.toLowerCase() ?? null, recursive: false, pattern: null };
    // An unknown encoding is refused before the client is asked.
    if (encoding !== undefined) normalizeEncoding(encoding);
    const prepared = requests.begin('read', input, terms, context);
    if ('ask' in prepared) return prepared;
    const { call } = prepared;
    if (call.request.path.relative === '') throw notAFileError('.');
    const use = useOf(call);
    if (prepared.state !== null) return answered(prepared, use);
    if (prepared.isDirect) return readDirectly(prepared, refresh);
    const came = await methods.arrived(call, use, knownSince(call));
    if (came !== null) return came;
    return (refresh ? await forgetKept(methods, call) : await had(call)) ?? otherwise(prepared);
  }

  /** What came before that is older than what is known. */
  const knownSince = ({ request, context }: RequestCall): number =>
    cache.peek(context.caller.user, request.projectKey, request.path.relative)?.storedAt ?? 0;

  async function had(call: RequestCall): Promise<FoundFile | null> {
    const entry = remembered(call);
    return entry === null ? toKeptFile(call, await methods.kept(call)) : toReadFile(entry);
  }

  const useOf =
    (call: RequestCall): UseAnswer<FoundFile> =>
    async (chunks, source) => {
      if ((source.stored?.file.size ?? 0) > mostBytes) {
        cache.forgetPath(call.context.caller.user, call.request.projectKey, call.request.path.relative);
        return keepLargeFile(call, source);
      }
      const bytes = await collectBytes(chunks, toCollectLimit(mostBytes, call.request));
      return keep(call, bytes, { mtime: null }, source);
    };

  return {
    /** Asks the client where nobody has it. */
    read: (
      input: ReadFileOptions,
      context: ToolContext,
    ): Promise<FoundFile | Question | ClientInstructions> =>
      read(input, context, (prepared) => requests.ask(prepared, input)),

    /** Null where the client would have to be asked for it. */
    find: (input: ReadFileOptions, context: ToolContext): Promise<FoundFile | Question | null> =>
      read(input, context, async () => null),
  };
}

/** The caller does not want what is known, but a new copy. */
async function forgetKept(methods: FileMethods, { request, context }: RequestCall): Promise<null> {
  await methods.forgetKept(context.caller, request);
  return null;
}

const nothingAnnounced = { from: 'root', size: null, sha256: null, encoding: null, stored: null } as const;

/** Tells one state of a file from any other, also of the same size and time. */
const toFileMark = ({ stats: { dev, ino, size, mtimeMs, ctimeMs } }: OpenFile): string =>
  [dev, ino, size, mtimeMs, ctimeMs].join(' ');

const toReadFile = ({ path, bytes, mtime, sha256, rung, encoding }: CacheEntry): ReadFile => ({
  path,
  bytes,
  mtime,
  sha256,
  rung,
  encoding,
  cached: true,
});

const toCollectLimit = (most: number, { path }: RequestCall['request']): CollectLimit => ({
  limit: most,
  tooLong: () => tooLargeForMethodError('reading', path.relative, most),
});

/** A file that is too large for memory: it is stored, for a while. */
export interface LargeFile extends Omit<ReadFile, 'bytes'> {
  readonly stored: StoredFile;
}

/** Large files stay where they were sent to, and later calls find them there, at any server. */
function keepLargeFile(call: RequestCall, { rung, stored }: AnswerSource): LargeFile {
  const { file, keep } = stored!;
  requireSame(file, call.request);
  keep();
  return { ...toLargeFile(call, { file, rung: rung as KeptFile['rung'] }), cached: false };
}

/** One of these later calls; null where the file is said to be another by now. */
const toKeptFile = (call: RequestCall, kept: KeptFile | null): LargeFile | null =>
  kept === null || findDifference(kept.file, call.request) !== null ? null : toLargeFile(call, kept);

const toLargeFile = ({ request }: RequestCall, { file, rung }: KeptFile): LargeFile => ({
  path: request.path.relative,
  rung,
  mtime: null,
  sha256: file.sha256,
  encoding: null,
  cached: true,
  stored: file,
});

type AuditedAnswer = { readonly rung: ArrivalMethod } | Question;

/**
 * Notes every operation (E8): what was had is a trace, what failed an information, and a path that leads out of the
 * project a violation. Null is nothing done.
 */
export async function auditOperation<T extends AuditedAnswer | null>(
  audit: Audit,
  operation: string,
  subject: string,
  { caller, client, signal }: ToolContext,
  work: () => Promise<T>,
): Promise<T> {
  const about = { operation, user: caller.user, client: client.name, subject };
  try {
    const done = await work();
    if (done !== null) audit.note({ ...about, level: 'trace', ...describeOutcome(done) });
    return done;
  } catch (cause) {
    const error = asWorkcrateError(cause);
    const event = { ...about, result: signal.aborted ? 'cancelled' : error.code };
    if (error.code === 'path_refused')
      audit.violation(event, String(error.details['kind'] ?? 'path_refused'), error);
    else audit.note({ ...event, level: 'info' });
    throw cause;
  }
}

function describeOutcome(done: AuditedAnswer) {
  if ('ask' in done) return { result: 'asked' };
  return { result: isInstructions(done) ? 'offered' : 'ok', details: { rung: done.rung } };
}

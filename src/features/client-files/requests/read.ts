/**
 * Reads a file of the client: what was uploaded for the call, what is cached and not too old, what can be opened here,
 * else the client is asked. It writes the audit lines of reads and lists. Paths were checked in `requests.ts`.
 */
import { join } from 'node:path';
import type { Audit } from '../../../core/audit/audit.ts';
import type { Clock } from '../../../platform/clock.ts';
import { asWorkcrateError, isWorkcrateError } from '../../../platform/errors.ts';
import type { Question, ToolContext } from '../../../core/offer/tool.ts';
import { readOpenFile, type OpenFile } from '../../../platform/paths/paths.ts';
import { collectBytes } from '../../../platform/streams.ts';
import type { CacheEntry } from '../cache/cache.ts';
import type { ArrivalMethod } from '../client-file.ts';
import { isGivenByPerson, mayAnswerAgain, mayAnswerFirst, type AgeTerms } from '../freshness.ts';
import { normalizeEncoding } from '../text/text.ts';
import type { PathPolicy } from '../policy/policy.ts';
import { openDirectly } from './direct.ts';
import { clientRefusedError, notAFileError, tooLargeForMethodError } from './failures.ts';
import {
  isInstructions,
  type ClientInstructions,
  type FileRequest,
  type RequestCall,
  type UseAnswer,
} from './file-request.ts';
import {
  createFileKeeper,
  toCollectLimit,
  toKeptFile,
  toReadFile,
  type FileKeeperOptions,
  type FoundFile,
  type ReadClientFile,
} from './kept-files.ts';
import type { FileMethods } from './methods.ts';
import { offerUploadIfRefused } from './offers.ts';
import type { IsRecentEnough } from './pending-uploads.ts';
import type { PreparedRequest, ClientRequests, ReadFileOptions } from './requests.ts';

export type { FoundFile, ReadClientFile } from './kept-files.ts';

/** A file for a call that may still fail: until it is spent, the same call made again finds it. */
export type UnspentFile = FoundFile & { readonly spend?: () => Promise<void> };

export interface ReadRequestOptions extends FileKeeperOptions {
  readonly clock: Clock;
  readonly methods: FileMethods;
  readonly requests: ClientRequests;
  readonly timeoutMs: number;
}

/** Reads a file of the client's: what was sent, what is findRemembered, what can be read here, else it is asked for. */
export function createFileReader(options: ReadRequestOptions) {
  const { methods, requests, cache, mostBytes, timeoutMs, clock } = options;
  const { keep, findRemembered, findNewer, toUseAnswer } = createFileKeeper(options);

  async function readDirectly({ call, policy }: PreparedRequest, refresh: boolean): Promise<ReadClientFile> {
    const { request } = call;
    using file = openDirectly(request, policy);
    const { size } = file.stats;
    const mtime = Math.trunc(file.stats.mtimeMs);
    const seen = { receivedAt: clock(), localPath: join(request.root!, request.path.relative) };
    const entry = refresh ? null : findRemembered(call, { mtime });
    if (entry?.mark === toFileMark(file)) return { ...toReadFile(entry), ...seen };
    if (size > mostBytes) throw tooLargeForMethodError('reading', request.path.relative, mostBytes);
    const bytes = await collectBytes(readOpenFile(file), toCollectLimit(mostBytes, request));
    const source = { ...nothingAnnounced, rung: 'direct', receivedAt: seen.receivedAt } as const;
    return { ...keep(call, bytes, { mtime, mark: toFileMark(file) }, source), ...seen };
  }

  /** What a person gave for a file that is read in place, unless the file changed since, or is asked for by name. */
  function findGivenInstead(
    { call, policy }: PreparedRequest,
    { via, proof, ...terms }: ReadFileOptions,
  ): ReadClientFile | null {
    const { request, context } = call;
    const { user } = context.caller;
    const given = cache.peek(user, request.projectKey, request.path.relative);
    if (given === null || !isGivenByPerson(given) || via === 'direct' || proof !== undefined) return null;
    const mtime = findDirectMtime(request, policy);
    if (mtime !== null && mtime > (given.mtime ?? given.receivedAt)) return null;
    const entry = findRemembered(call, { suits: (came) => mayAnswerAgain(came, terms, clock()) });
    return entry === null ? null : toReadFile(entry);
  }

  const answered = (prepared: PreparedRequest, use: UseAnswer<FoundFile>): Promise<FoundFile | Question> =>
    offerUploadIfRefused(methods, prepared.call, () => readAnswer(prepared, use));

  async function readAnswer(
    prepared: PreparedRequest,
    use: UseAnswer<FoundFile>,
  ): Promise<FoundFile | Question> {
    const { call, state } = prepared;
    const meanwhile = () => findNewer(call, state!.until - timeoutMs);
    const came = (await methods.answered(call, state!, { use, meanwhile })) ?? meanwhile();
    if (came === null) throw clientRefusedError(call.request.path.relative, 'the answer holds no file');
    // Whether a model types the file or hands it to guide_cache_file.
    return 'ask' in came || state!.rung !== 'sampling' ? came : { ...came, rung: 'sampling' };
  }

  /** `otherwise` says what is done where nobody has it. */
  async function find<T>(
    input: ReadFileOptions,
    context: ToolContext,
    otherwise: (prepared: PreparedRequest) => Promise<T>,
  ): Promise<UnspentFile | Question | T> {
    const prepared = begin(input, context);
    if ('ask' in prepared) return prepared;
    const { call } = prepared;
    const use = toUseAnswer(call);
    if (prepared.state !== null) return answered(prepared, use);
    if (prepared.isDirect)
      return findGivenInstead(prepared, input) ?? readDirectly(prepared, input.refresh ?? false);
    const came = await methods.findArrived(call, use, isSentFor(call, input));
    if (came !== null) return { ...came.value, spend: came.spend };
    return (input.refresh ? await forgetKept(methods, call) : await had(call, input)) ?? otherwise(prepared);
  }

  function begin(input: ReadFileOptions, context: ToolContext): PreparedRequest | Question {
    const { binary = false, encoding, size = null, sha256 = null } = input;
    const terms = { binary, size, sha256: sha256?.toLowerCase() ?? null, recursive: false, pattern: null };
    // An unknown encoding is refused before the client is asked.
    if (encoding !== undefined) normalizeEncoding(encoding);
    const prepared = requests.begin('read', input, terms, context);
    if (!('ask' in prepared) && prepared.call.request.path.relative === '') throw notAFileError('.');
    return prepared;
  }

  /** What was sent lately, and after what is known came. */
  function isSentFor({ request, context }: RequestCall, terms: AgeTerms): IsRecentEnough {
    const known = cache.peek(context.caller.user, request.projectKey, request.path.relative);
    return (came) => came.receivedAt >= (known?.receivedAt ?? 0) && mayAnswerFirst(came, terms, clock());
  }

  async function had(call: RequestCall, terms: AgeTerms): Promise<FoundFile | null> {
    const suits = (came: Pick<CacheEntry, 'rung' | 'receivedAt'>) => mayAnswerAgain(came, terms, clock());
    const entry = findRemembered(call, { suits });
    if (entry !== null) return toReadFile(entry);
    const kept = await methods.kept(call);
    return kept !== null && suits(kept) ? toKeptFile(call, kept) : null;
  }

  return {
    /** Asks the client where nobody has it. */
    async read(
      input: ReadFileOptions,
      context: ToolContext,
    ): Promise<FoundFile | Question | ClientInstructions> {
      const found = await find(input, context, (prepared) => requests.ask(prepared, input));
      if ('spend' in found) await found.spend?.();
      return found;
    },

    /** Null where the client would have to be asked for it. */
    find: (input: ReadFileOptions, context: ToolContext): Promise<UnspentFile | Question | null> =>
      find(input, context, async () => null),

    /** How its agent's shell can send it. */
    async offer(input: ReadFileOptions, context: ToolContext): Promise<Question | ClientInstructions> {
      const prepared = begin(input, context);
      return 'ask' in prepared ? prepared : methods.offer(prepared.call);
    },
  };
}

/** The caller does not want what is known, but a new copy. */
async function forgetKept(methods: FileMethods, { request, context }: RequestCall): Promise<null> {
  await methods.forgetKept(context.caller, request);
  return null;
}

const nothingAnnounced = { from: 'root', size: null, sha256: null, encoding: null, stored: null } as const;

/** When a file on this machine changed; null where there is none. Where it leads is judged as for reading it. */
function findDirectMtime(request: FileRequest, policy: PathPolicy): number | null {
  try {
    using file = openDirectly(request, policy);
    return Math.trunc(file.stats.mtimeMs);
  } catch (error) {
    if (isWorkcrateError(error, 'path_not_found')) return null;
    throw error;
  }
}

/** Tells one state of a file from any other, also of the same size and time. */
const toFileMark = ({ stats: { dev, ino, size, mtimeMs, ctimeMs } }: OpenFile): string =>
  [dev, ino, size, mtimeMs, ctimeMs].join(' ');

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
    if (done !== null) audit.note({ ...about, level: 'trace', ...describeReadOutcome(done) });
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

function describeReadOutcome(done: AuditedAnswer) {
  if ('ask' in done) return { result: 'asked' };
  return { result: isInstructions(done) ? 'offered' : 'ok', details: { rung: done.rung } };
}

/**
 * The tool `guide_cache_file`, by which a client gives files of its own accord, and sees and drops what is remembered.
 * Paths are checked by the policy first. Eviction and fairness are in `cache.ts`.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Audit } from '../../../core/audit/audit.ts';
import { asWorkcrateError, WorkcrateError } from '../../../platform/errors.ts';
import type { Caller } from '../../../core/identity.ts';
import {
  declareTool,
  isQuestion,
  type Question,
  type ToolAnswer,
  type ToolContext,
} from '../../../core/offer/tool.ts';
import { formatBytes, quoteName } from '../../../platform/text/text.ts';
import type { ClientPath } from '../client-file.ts';
import { encodeText, normalizeEncoding, parseBase64 } from '../text/text.ts';
import type { CacheStatistics, ClientCache, NewCacheEntry } from './cache.ts';

export interface CacheRoom {
  readonly cache: ClientCache;
  /** The policy for this client's root, or the question that has to be asked first. */
  readonly policyFor: (context: ToolContext) => MaybeLater<GuidePolicy | Question>;
  /** Forgets what is not in memory: whether there was anything. */
  readonly forgetKept?: (caller: Caller, root: string | null, path: string) => Promise<boolean>;
  /** Where given, the tool writes its own lines, one for each file. */
  readonly audit?: Audit;
}

type MaybeLater<T> = T | Promise<T>;

/** As much as a request over HTTP holds; over stdio one holds as many, even if each is escaped (mcp/stdio/transport.ts). */
const maxGuideCharacters = 2 ** 22;

const pathSchema = z
  .string()
  .refine(({ length }) => length >= 1 && length <= 4096, 'A path has 1 to 4096 characters.');
const contentSchema = z
  .string()
  .refine(
    ({ length }) => length <= maxGuideCharacters,
    `content has at most ${maxGuideCharacters} characters. Send a large file with read_client_file.`,
  );

/** Without descriptions: the tool describes them once, for one file. */
const guideFileShape = {
  path: pathSchema,
  content: contentSchema,
  encoding: z
    .string()
    .refine(({ length }) => length <= 100, 'The name of an encoding has at most 100 characters.')
    .optional(),
  binary: z.boolean().optional(),
  mtime: z
    .number()
    .refine((time) => time >= 0 && time <= 8.64e15, 'mtime is in milliseconds since 1970.')
    .optional(),
};

const integerSchema = z.number().int();

const statisticsShape = z.object({
  hits: integerSchema,
  misses: integerSchema,
  evictions: integerSchema.describe('Removed to make space for others'),
  invalidations: integerSchema.describe('Removed because they changed on the client'),
  entries: integerSchema,
  bytes: integerSchema,
  limit: integerSchema.describe('Most bytes, of all users together'),
  entryLimit: integerSchema.describe('Most files, of all users together'),
});

const storedShape = z.object({
  path: z.string(),
  size: integerSchema,
  sha256: z.string(),
  encoding: z.string().nullable(),
});

const guideOutputShape = z.object({
  stored: z.array(storedShape),
  forgot: z
    .boolean()
    .nullable()
    .describe('Whether there was something to forget; null where nothing was to be'),
  cache: statisticsShape,
});

type GuideOutput = z.input<typeof guideOutputShape>;

const { path, content, encoding, binary, mtime } = guideFileShape;

/** By which a client gives files of its own accord, sees how many are remembered, and has one forgotten. */
export const guideCacheFileTool = declareTool({
  name: 'guide_cache_file',
  group: 'client',
  title: 'Give files of the client',
  description:
    "Gives the server a short file of the user's project, pasted as text, for read_client_file and client_files within the next hour. For a client without a shell; others send files with read_client_file. Without arguments it says how much is remembered.",
  input: z.strictObject({
    path: path.optional().describe("From the project's folder"),
    content: content.optional().describe('The whole text, exactly'),
    encoding: encoding.describe('Of the file; default: utf-8'),
    binary: binary.describe('content is base64'),
    mtime: mtime.describe('When it changed, in ms since 1970'),
    files: z
      .array(z.strictObject(guideFileShape))
      .refine(({ length }) => length >= 1 && length <= 1000, 'files has 1 to 1000 files.')
      .refine(
        (files) =>
          files.reduce((sum, each) => sum + each.path.length + each.content.length, 0) <= maxGuideCharacters,
        `Together they may have at most ${maxGuideCharacters} characters. Give fewer at once; send large ones with read_client_file.`,
      )
      .optional()
      .describe('Several instead, stored all or none'),
    forget: pathSchema.optional().describe('Path of one to forget instead'),
  }),
  output: guideOutputShape,
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  auditFields: { subject: ['path', 'forget'] },
  handle(room: CacheRoom, { files, forget, ...one }, context) {
    const subjects = forget === undefined ? (files ?? [one]).flatMap((file) => file.path ?? []) : [forget];
    return auditGuide(room.audit, 'guide_cache_file', context, subjects, () => {
      const isEmpty = Object.values(one).every((value) => value === undefined);
      if (forget !== undefined) return forgetFile(room, checkNothingElse(forget, files, isEmpty), context);
      if (files !== undefined) return storeGivenFiles(room, checkOnlyFiles(files, isEmpty), context);
      if (isEmpty) return answerStatistics(room, context);
      return storeGivenFiles(room, [checkSingleFile(one)], context);
    });
  },
});

async function storeGivenFiles(
  { policyFor, cache }: CacheRoom,
  given: readonly GuideFile[],
  context: ToolContext,
) {
  const policy = await policyFor(context);
  if ('ask' in policy) return policy;
  const { stored, statistics } = cacheFiles(policy, cache, context.caller, given);
  const shown = stored.map(({ path, bytes, sha256, encoding }) => ({
    path,
    size: bytes.length,
    sha256,
    encoding,
  }));
  return {
    text: [
      `Remembered for an hour: ${shown.length}.`,
      ...shown.slice(0, maxShownFiles).map(describeStored),
      ...(shown.length > maxShownFiles ? [`and ${shown.length - maxShownFiles} more`] : []),
      describeStatistics(statistics),
    ].join('\n'),
    structured: { stored: shown, forgot: null, cache: statistics },
  };
}

const maxShownFiles = 20;

const describeStored = ({ path, size, encoding }: z.input<typeof storedShape>): string =>
  `${quoteName(path)}  ${size} bytes${encoding === null ? '' : `  ${encoding}`}`;

async function forgetFile({ cache, policyFor, forgetKept }: CacheRoom, path: string, context: ToolContext) {
  const policy = await policyFor(context);
  if ('ask' in policy) return policy;
  const { user } = context.caller;
  const { relative } = policy.judge(path, 'read');
  const wasKept = (await forgetKept?.(context.caller, policy.root, relative)) ?? false;
  const forgot = cache.forgetPath(user, policy.root, relative) || wasKept;
  return describeCache(cache, context, forgot, forgot ? 'Forgotten. ' : 'It was not cached. ');
}

const answerStatistics = async ({ cache }: CacheRoom, context: ToolContext) =>
  describeCache(cache, context, null, '');

function describeCache(
  cache: ClientCache,
  { caller }: ToolContext,
  forgot: boolean | null,
  before: string,
): ToolAnswer<GuideOutput> {
  const statistics = cache.statistics(caller.user);
  const structured = { stored: [], forgot, cache: statistics };
  return { text: `${before}${describeStatistics(statistics)}`, structured };
}

type SingleFileInput = { [Key in keyof GuideFile]?: GuideFile[Key] | undefined };

function checkSingleFile({ path, content, ...rest }: SingleFileInput): GuideFile {
  if (path !== undefined && content !== undefined) return { path, content, ...rest };
  throw new WorkcrateError('invalid_input', 'Give either path and content, or files, or forget.');
}

function checkOnlyFiles(files: readonly GuideFile[], isEmpty: boolean): readonly GuideFile[] {
  if (isEmpty) return files;
  throw new WorkcrateError(
    'invalid_input',
    'Give either path and content, or files, and nothing besides files.',
  );
}

function checkNothingElse(forget: string, files: readonly GuideFile[] | undefined, isEmpty: boolean): string {
  if (isEmpty && files === undefined) return forget;
  throw new WorkcrateError('invalid_input', 'forget goes alone: give files in a call of their own.');
}

function describeStatistics({ entries, bytes, limit, entryLimit, ...counts }: CacheStatistics): string {
  const { hits, misses, evictions, invalidations } = counts;
  return `Cached for you: ${entries} files, ${formatBytes(bytes)} (for all users at most ${formatBytes(limit)} and ${entryLimit} files); ${hits} hits, ${misses} misses, ${evictions} evicted, ${invalidations} invalidated.`;
}

/** As much of the policy as is asked here. */
export interface GuidePolicy {
  readonly root: string | null;
  judge(path: string, purpose: 'read'): ClientPath;
}

/** A file as a model or a program gives it. */
export interface GuideFile {
  readonly path: string;
  /** Text, or base64 where it is binary. */
  readonly content: string;
  /** Of the text that the file holds; default: UTF-8, and for a binary one nobody knows. */
  readonly encoding?: string | undefined;
  readonly binary?: boolean | undefined;
  /** Milliseconds since 1970. */
  readonly mtime?: number | undefined;
}

export interface CachedFiles {
  readonly stored: readonly NewCacheEntry[];
  /** Of this user, afterwards. */
  readonly statistics: CacheStatistics;
}

/** Keeps files that the client gives of its own accord. All paths are judged first; all files are kept, or none. */
export function cacheFiles(
  policy: GuidePolicy,
  cache: ClientCache,
  { user }: Caller,
  files: readonly GuideFile[],
): CachedFiles {
  const paths = files.map(({ path }) => policy.judge(path, 'read').relative);
  checkDistinct(paths);
  const stored = files.map((file, at) => toNewEntry(paths[at]!, file));
  if (!cache.putAll(user, policy.root, stored)) throw cacheFullError(stored, cache);
  return { stored, statistics: cache.statistics(user) };
}

function checkDistinct(paths: readonly string[]): void {
  const seen = new Set<string>();
  for (const path of paths) {
    if (path === '')
      throw new WorkcrateError('invalid_input', "This is the project's folder. Name a file in it.");
    if (seen.has(path))
      throw new WorkcrateError(
        'invalid_input',
        `${JSON.stringify(path)} is given twice. Nothing was stored.`,
      );
    seen.add(path);
  }
}

function toNewEntry(path: string, { content, encoding, binary = false, mtime }: GuideFile): NewCacheEntry {
  const name = encoding === undefined ? null : normalizeEncoding(encoding);
  const bytes = namePathInErrors(path, () =>
    binary ? parseBase64(content) : encodeText(content, name ?? 'utf-8'),
  );
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const known = name ?? (binary ? null : 'utf-8');
  return { path, bytes, mtime: mtime ?? null, sha256, rung: 'given', encoding: known };
}

/** Says which file of several it was. */
function namePathInErrors<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof WorkcrateError)) throw error;
    throw new WorkcrateError(error.code, `${path}: ${error.message}`, { cause: error });
  }
}

function cacheFullError(files: readonly NewCacheEntry[], cache: ClientCache): WorkcrateError {
  const bytes = files.reduce((sum, file) => sum + file.bytes.length, 0);
  const { limit, entryLimit } = cache.statistics();
  return new WorkcrateError(
    'too_large',
    `There is no space for ${files.length} files of ${formatBytes(bytes)}: at most ${formatBytes(limit)} and ${entryLimit} files are kept for all users. Nothing was stored. Give fewer or smaller ones, or send a large file by request_upload.`,
    { details: { bytes, limit } },
  );
}

/** Notes what was done, once for each path; one that leads out of the project is a violation, and the only one noted then. */
async function auditGuide<T>(
  audit: Audit | undefined,
  operation: string,
  { caller: { user }, client: { name: client } }: ToolContext,
  subjects: readonly string[],
  work: () => Promise<ToolAnswer<T> | Question>,
): Promise<ToolAnswer<T> | Question> {
  const about = { operation, user, client };
  const [first = null] = subjects;
  try {
    const done = await work();
    const result = isQuestion(done) ? 'asked' : 'ok';
    for (const subject of isQuestion(done) || first === null ? [first] : subjects)
      audit?.note({ ...about, level: 'trace', subject, result });
    return done;
  } catch (cause) {
    const error = asWorkcrateError(cause);
    const { code, details } = error;
    const event = {
      ...about,
      subject: details['path'] === undefined ? first : String(details['path']),
      result: code,
    };
    if (code === 'path_refused') audit?.violation(event, String(details['kind'] ?? code), error);
    else audit?.note({ ...event, level: 'info' });
    throw cause;
  }
}

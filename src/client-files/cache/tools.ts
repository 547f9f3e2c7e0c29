/**
 * The tools `guide_cache_file`, by which a client gives files of its own accord, and `client_cache`. Paths are checked
 * by the policy first. Eviction and fairness are in `cache.ts`.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Audit } from '../../audit/audit.ts';
import { asWorkcrateError, WorkcrateError } from '../../errors.ts';
import type { Caller } from '../../identity.ts';
import {
  defineTool,
  isQuestion,
  type Question,
  type Tool,
  type ToolAnswer,
  type ToolContext,
} from '../../mcp/tool.ts';
import { formatBytes } from '../../text.ts';
import type { ClientPath } from '../client-file.ts';
import { encodeText, normalizeEncoding, parseBase64 } from '../text/text.ts';
import type { CacheStatistics, ClientCache, NewCacheEntry } from './cache.ts';

export interface CacheToolsOptions {
  readonly cache: ClientCache;
  /** The policy for this client's root, or the question that has to be asked first. */
  readonly policyFor: (context: ToolContext) => MaybeLater<GuidePolicy | Question>;
  /** Forgets what is not in memory: whether there was anything. */
  readonly forgetKept?: (caller: Caller, root: string | null, path: string) => Promise<boolean>;
  /** Where given, these tools write their own lines, one for each file. */
  readonly audit?: Audit;
}

type MaybeLater<T> = T | Promise<T>;

/** Tools by which a client gives its files of its own accord, and sees what is remembered of them. */
export function createCacheTools(options: CacheToolsOptions): Tool[] {
  return [createGuideCacheFileTool(options), createClientCacheTool(options)];
}

const pathSchema = z.string().min(1).max(4096).describe("From the project's folder, such as docs/plan.md");

/** As much as a request over HTTP holds; over stdio one holds as many, even if each is escaped (mcp/stdio/transport.ts). */
const maxGuideCharacters = 2 ** 22;

const guideFileShape = {
  path: pathSchema,
  content: z
    .string()
    .max(maxGuideCharacters)
    .describe('The whole text, exactly; with binary, the bytes as base64'),
  encoding: z.string().max(100).optional().describe('Encoding of the file; default: utf-8'),
  binary: z.boolean().optional().describe('Whether content is base64'),
  mtime: z
    .number()
    .min(0)
    .max(8.64e15)
    .optional()
    .describe('When it last changed, in milliseconds since 1970'),
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

const { path: _path, content: _content, ...further } = guideFileShape;

function createGuideCacheFileTool(options: CacheToolsOptions): Tool {
  return defineTool({
    name: 'guide_cache_file',
    group: 'client',
    title: 'Give files of the client',
    description:
      'Gives the server the content of a file of the project (path, content), or of several (files), so that read_client_file and runs need not ask for it. Several are stored together or not at all. For a large file use read_client_file, which sends it outside the conversation.',
    input: z.strictObject({
      path: pathSchema.optional(),
      content: guideFileShape.content.optional(),
      ...further,
      files: z
        .array(z.strictObject(guideFileShape))
        .min(1)
        .max(1000)
        .refine(
          (files) =>
            files.reduce((sum, each) => sum + each.path.length + each.content.length, 0) <=
            maxGuideCharacters,
          `Together they may have at most ${maxGuideCharacters} characters. Give fewer at once; send large ones with read_client_file and via: "upload".`,
        )
        .optional()
        .describe('Instead of path and content; together no larger than one may be'),
    }),
    output: z.object({ stored: z.array(storedShape), cache: statisticsShape }),
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    auditFields: { subject: ['path'] },
    handle({ files, ...one }, context) {
      const subjects = (files ?? [one]).flatMap(({ path }) => path ?? []);
      return auditGuide(options.audit, 'guide_cache_file', context, subjects, () =>
        storeGivenFiles(
          options,
          files === undefined ? [requireSingleFile(one)] : requireOnlyFiles(files, one),
          context,
        ),
      );
    },
  });
}

async function storeGivenFiles(
  { policyFor, cache }: CacheToolsOptions,
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
  const lines = shown
    .slice(0, 20)
    .map(({ path, size, sha256 }) => `${path}  ${size} bytes  sha256 ${sha256}`);
  return {
    text: [`Stored ${shown.length}. ${describeStatistics(statistics)}`, ...lines].join('\n'),
    structured: { stored: shown, cache: statistics },
  };
}

type SingleFileInput = { [Key in keyof GuideFile]?: GuideFile[Key] | undefined };

function requireSingleFile({ path, content, ...rest }: SingleFileInput): GuideFile {
  if (path !== undefined && content !== undefined) return { path, content, ...rest };
  throw new WorkcrateError('invalid_input', 'Give either path and content, or files.');
}

function requireOnlyFiles(files: readonly GuideFile[], one: SingleFileInput): readonly GuideFile[] {
  if (Object.values(one).every((value) => value === undefined)) return files;
  throw new WorkcrateError(
    'invalid_input',
    'Give either path and content, or files, and nothing besides files.',
  );
}

function createClientCacheTool({ cache, policyFor, audit, forgetKept }: CacheToolsOptions): Tool {
  return defineTool({
    name: 'client_cache',
    group: 'client',
    title: 'See which files of the client are cached',
    description:
      'Shows how many of your files the server has cached and how often that helped. With forget, it drops one, so that the next read_client_file asks for it again.',
    input: z.strictObject({ forget: pathSchema.optional() }),
    output: z.object({ forgot: z.boolean().nullable(), cache: statisticsShape }),
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    auditFields: { subject: [] },
    handle: ({ forget }, context) =>
      auditGuide(audit, 'client_cache', context, forget === undefined ? [] : [forget], async () => {
        const { user } = context.caller;
        const answer = (forgot: boolean | null, before = '') => {
          const statistics = cache.statistics(user);
          return {
            text: `${before}${describeStatistics(statistics)}`,
            structured: { forgot, cache: statistics },
          };
        };
        if (forget === undefined) return answer(null);
        const policy = await policyFor(context);
        if ('ask' in policy) return policy;
        const { relative } = policy.judge(forget, 'read');
        const wasKept = (await forgetKept?.(context.caller, policy.root, relative)) ?? false;
        const forgot = cache.forgetPath(user, policy.root, relative) || wasKept;
        return answer(forgot, forgot ? 'Forgotten. ' : 'It was not cached. ');
      }),
  });
}

function describeStatistics({
  entries,
  bytes,
  limit,
  hits,
  misses,
  evictions,
  invalidations,
}: CacheStatistics): string {
  return `Cached for you: ${entries} files, ${formatBytes(bytes)} (limit for all users: ${formatBytes(limit)}); ${hits} hits, ${misses} misses, ${evictions} evicted, ${invalidations} invalidated.`;
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
  requireDistinct(paths);
  const stored = files.map((file, at) => toNewEntry(paths[at]!, file));
  if (!cache.putAll(user, policy.root, stored)) throw cacheFullError(stored, cache);
  return { stored, statistics: cache.statistics(user) };
}

function requireDistinct(paths: readonly string[]): void {
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

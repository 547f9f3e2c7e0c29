import { createHash } from 'node:crypto';
import { WorkcrateError } from '../../errors.ts';
import type { Caller } from '../../identity.ts';
import type { ClientPath } from '../client-file.ts';
import { fromBase64 } from '../text/base64.ts';
import { encode } from '../text/encode.ts';
import { encodingNamed } from '../text/names.ts';
import type { CacheStatistics, ClientCache, NewEntry } from './cache.ts';
import { formatBytes } from '../../text.ts';

/** As much of the policy as is asked here. */
export interface GuidePolicy {
  readonly root: string | null;
  judge(path: string, purpose: 'read'): ClientPath;
}

/** A file as a model or a program gives it. */
export interface GivenFile {
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
  readonly stored: readonly NewEntry[];
  /** Of this user, afterwards. */
  readonly statistics: CacheStatistics;
}

/** Keeps files that the client gives of its own accord. All paths are judged first; all files are kept, or none. */
export function cacheFiles(
  policy: GuidePolicy,
  cache: ClientCache,
  { user }: Caller,
  files: readonly GivenFile[],
): CachedFiles {
  const paths = files.map(({ path }) => policy.judge(path, 'read').relative);
  demandDistinct(paths);
  const stored = files.map((file, at) => asEntry(paths[at]!, file));
  if (!cache.putAll(user, policy.root, stored)) throw noRoom(stored, cache);
  return { stored, statistics: cache.statistics(user) };
}

function demandDistinct(paths: readonly string[]): void {
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

function asEntry(path: string, { content, encoding, binary = false, mtime }: GivenFile): NewEntry {
  const name = encoding === undefined ? null : encodingNamed(encoding);
  const bytes = naming(path, () => (binary ? fromBase64(content) : encode(content, name ?? 'utf-8')));
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const told = name ?? (binary ? null : 'utf-8');
  return { path, bytes, mtime: mtime ?? null, sha256, rung: 'given', encoding: told };
}

/** Says which file of several it was. */
function naming<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof WorkcrateError)) throw error;
    throw new WorkcrateError(error.code, `${path}: ${error.message}`, { cause: error });
  }
}

function noRoom(files: readonly NewEntry[], cache: ClientCache): WorkcrateError {
  const bytes = files.reduce((sum, file) => sum + file.bytes.length, 0);
  const { limit, entryLimit } = cache.statistics();
  return new WorkcrateError(
    'too_large',
    `There is no space for ${files.length} files of ${formatBytes(bytes)}: at most ${formatBytes(limit)} and ${entryLimit} files are kept for all users. Nothing was stored. Give fewer or smaller ones, or send a large file by request_upload.`,
    { details: { bytes, limit } },
  );
}

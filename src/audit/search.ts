import { join } from 'node:path';
import { errnoOf } from '../errors.ts';
import { auditLevels, type AuditLevel } from './audit.ts';
import { backwards } from './backwards.ts';
import { plainJson } from './escape.ts';
import { auditFiles, dayMs, dayOfFile } from './file-names.ts';
import { isIntact, linkOf, parseLine, type AuditLine } from './line.ts';

export interface AuditQuery {
  /** Anything that stands in a line, in any case. */
  readonly text?: string | undefined;
  readonly user?: string | undefined;
  readonly operation?: string | undefined;
  /** `ok`, `failed` for all else, or a code. */
  readonly result?: string | undefined;
  /** The least severe. */
  readonly level?: AuditLevel | undefined;
  /** From then on, in milliseconds. */
  readonly since?: number | undefined;
  /** Before then. */
  readonly until?: number | undefined;
  readonly limit: number;
  /** The `next` of the page before. */
  readonly before?: number | undefined;
}

export interface FoundLine extends AuditLine {
  /** Whether it is what its hash was made of. `workcrate audit verify` checks the chain as well. */
  readonly intact: boolean;
}

export interface FoundLines {
  readonly lines: readonly FoundLine[];
  /** Given as `before`, it goes on from there; null at the end of the log. */
  readonly next: number | null;
}

export interface SearchOptions {
  readonly key: string | null;
  readonly signal: AbortSignal;
  /** How much is read for a page, which may end early for that. */
  readonly mostBytes?: number;
}

const usualBytes = 256 * 1024 ** 2;

/** The newest lines first. Files are read from their ends, a piece at a time. */
export async function searchAudit(
  folder: string,
  query: AuditQuery,
  { key, signal, mostBytes = usualBytes }: SearchOptions,
): Promise<FoundLines> {
  const isWanted = wantedBy(query);
  const found: FoundLine[] = [];
  let [left, next] = [mostBytes, query.before ?? null];
  for (const file of await filesOf(folder, query))
    for await (const { lines, bytes } of linesOf(join(folder, file), query.before ?? null)) {
      signal.throwIfAborted();
      for (const line of lines) {
        if (found.length === query.limit) return { lines: found, next };
        const link = linkOf(line);
        if (link === null || link.seq >= (query.before ?? Infinity)) continue;
        next = link.seq;
        const hit = isWanted(line);
        if (hit !== null) found.push({ ...hit, intact: isIntact(line, link, key) });
      }
      left -= bytes;
      if (left <= 0 && next !== query.before) return { lines: found, next };
    }
  return { lines: found, next: null };
}

/** No line of a file is of a later day than the file; after a clock was set back, some may be of an earlier. */
async function filesOf(folder: string, { since = 0, until = Infinity }: AuditQuery): Promise<string[]> {
  const files = await auditFiles(folder);
  return files.toReversed().filter((file) => {
    const day = Date.parse(dayOfFile(file));
    return day + dayMs > since && day < until;
  });
}

async function* linesOf(path: string, before: number | null) {
  try {
    yield* backwards(path, before);
  } catch (error) {
    // Its time had come.
    if (errnoOf(error) !== 'ENOENT') throw error;
  }
}

/** Most lines are passed over for what their bytes lack, which costs less than to read them as JSON. */
function wantedBy(query: AuditQuery): (line: Buffer) => AuditLine | null {
  const { user, operation } = query;
  const needles = Object.entries({ operation, user })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => Buffer.from(`"${name}":${plainJson(value)}`));
  const text = query.text?.toLowerCase();
  return (line) => {
    if (!needles.every((needle) => line.includes(needle))) return null;
    const parsed = parseLine(line);
    return parsed !== null && fits(parsed, query) && (!text || holds(parsed, text)) ? parsed : null;
  };
}

function fits(line: AuditLine, { user, operation, result, level, since = 0, until = Infinity }: AuditQuery) {
  const time = Date.parse(line.time);
  return (
    (user === undefined || line.user === user) &&
    (operation === undefined || line.operation === operation) &&
    (result === undefined || line.result === result || (result === 'failed' && line.result !== 'ok')) &&
    (level === undefined || auditLevels.indexOf(line.level) >= auditLevels.indexOf(level)) &&
    time >= since &&
    time < until
  );
}

function holds({ operation, user, client, subject, result, details = {} }: AuditLine, text: string): boolean {
  const values = [operation, user, client, subject, result, ...Object.values(details)];
  return values.some((value) => value !== null && String(value).toLowerCase().includes(text));
}

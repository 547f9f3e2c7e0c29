/**
 * Lists the files of a user, newest first, one page at a time. A page costs the same however many files there are: the
 * index leads to its place, and a search by name looks at a bounded number of rows before it says where to go on.
 */
import { yieldToEventLoop } from '../../platform/concurrency/yield.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../ports/database/database.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import type { Caller } from '../identity.ts';
import { fileFromRow, type StoredFile } from './stored-file.ts';

export interface FilePageOptions {
  readonly limit: number;
  /** The `next` of the page before; null for the first. */
  readonly after: string | null;
  /** Only files that have this in their name, in any case. */
  readonly text?: string | undefined;
}

export interface FilePage {
  readonly files: StoredFile[];
  /** Null on the last page. A page of a search may have few files or none, and a next page all the same. */
  readonly next: string | null;
}

interface ListOptions {
  readonly database: Database;
  readonly clock: Clock;
}

/** Rows that one query of a search reads, and that a page of it looks at. */
const fileWindowRows = 500;
const maxSearchedFileRows = 20_000;

export async function listStoredFiles(
  options: ListOptions,
  caller: Caller,
  { limit, after, text }: FilePageOptions,
): Promise<FilePage> {
  const from = after === null ? null : parseFileCursor(after);
  if (text === undefined) return toPage(await readFileRows(options, caller, from, limit + 1), limit);
  return searchByName(options, caller, from, { limit, text });
}

async function searchByName(
  options: ListOptions,
  caller: Caller,
  from: FileCursor | null,
  { limit, text }: { readonly limit: number; readonly text: string },
): Promise<FilePage> {
  const wanted = text.toLowerCase();
  const hits: StoredFile[] = [];
  let place = from;
  for (let seen = 0; seen < maxSearchedFileRows; seen += fileWindowRows) {
    if (seen > 0) await yieldToEventLoop();
    const rows = await readFileRows(options, caller, place, fileWindowRows);
    hits.push(...rows.filter(({ name }) => name.toLowerCase().includes(wanted)));
    if (hits.length > limit || rows.length < fileWindowRows) return toPage(hits, limit);
    place = rows.at(-1)!;
  }
  return { files: hits, next: formatFileCursor(place!) };
}

/** Of one row more than fit, so that it is known whether there are more. */
function toPage(rows: readonly StoredFile[], limit: number): FilePage {
  const files = rows.slice(0, limit);
  return { files, next: rows.length > limit ? formatFileCursor(files.at(-1)!) : null };
}

type FileCursor = Pick<StoredFile, 'createdAt' | 'id'>;

/** A place between two rows. It stays good when the row that it was made of is gone. */
const formatFileCursor = ({ createdAt, id }: FileCursor): string => `${createdAt}-${id}`;

function parseFileCursor(cursor: string): FileCursor {
  const [, createdAt, id] = /^(\d{1,15})-(file_[0-9a-f]{24})$/.exec(cursor) ?? [];
  if (createdAt === undefined || id === undefined)
    throw new WorkcrateError('invalid_input', 'after is the next of the page before. Leave it out to begin.');
  return { createdAt: Number(createdAt), id };
}

async function readFileRows(
  { database, clock }: ListOptions,
  { user }: Caller,
  from: FileCursor | null,
  limit: number,
): Promise<StoredFile[]> {
  const rows = await database.query(
    `SELECT * FROM files WHERE owner = ? AND expires_at > ? ${from === null ? '' : 'AND (created_at, id) < (?, ?)'}
     ORDER BY created_at DESC, id DESC LIMIT ${limit}`,
    user,
    clock(),
    ...(from === null ? [] : [from.createdAt, from.id]),
  );
  return rows.map(fileFromRow);
}

/**
 * Lists the links of a user, newest first, one page at a time. What a link points at is told as far as the database
 * knows it: nothing is opened, and no source is asked.
 */
import type { Clock } from '../../platform/clock.ts';
import type { Database, Row } from '../../ports/database/database.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import { joinFileSql, linkedFileSql, readLinkedFile } from '../files/files.ts';
import type { Caller } from '../identity.ts';
import { getLinkState, linkFromRow, type Link, type LinkState } from './link.ts';

export interface LinkPageOptions {
  readonly limit: number;
  /** The `next` of the page before; null for the first. */
  readonly after: string | null;
  /** Only links to this file. */
  readonly fileId?: string | undefined;
}

export interface LinkInList {
  readonly link: Link;
  readonly state: LinkState | 'gone';
  /** Null where it is not known here: the file is gone, or it is one of a crate. */
  readonly filename: string | null;
  readonly size: number | null;
}

export interface LinkPage {
  readonly links: LinkInList[];
  readonly next: string | null;
}

export async function listLinks(
  { database, clock }: { readonly database: Database; readonly clock: Clock },
  { user }: Caller,
  { limit, after, fileId }: LinkPageOptions,
): Promise<LinkPage> {
  const [now, from] = [clock(), after === null ? null : parseLinkCursor(after)];
  const rows = await database.query(
    `SELECT links.*, ${linkedFileSql}, bundles.name AS bundle_name, bundles.size AS bundle_size
     FROM links ${joinFileSql('links.file_id')} LEFT JOIN bundles ON bundles.id = links.bundle_id
     WHERE links.owner = ?
       ${fileId === undefined ? '' : 'AND links.file_id = ?'}
       ${from === null ? '' : 'AND (links.created_at, links.id) < (?, ?)'}
     ORDER BY links.created_at DESC, links.id DESC LIMIT ${limit + 1}`,
    user,
    ...(fileId === undefined ? [] : [fileId]),
    ...(from === null ? [] : [from.createdAt, from.id]),
  );
  const links = rows.slice(0, limit).map((row) => toListedLink(row, now));
  return { links, next: rows.length > limit ? formatLinkCursor(links.at(-1)!.link) : null };
}

function toListedLink(row: Row, now: number): LinkInList {
  const link = linkFromRow(row);
  const file = readLinkedFile(row);
  const state = getLinkState(link, now);
  const filename = file?.name ?? (row['bundle_name'] as string | null);
  const isGone = link.target === null && filename === null;
  return {
    link,
    state: state === 'active' && isGone ? 'gone' : state,
    filename,
    size: file?.size ?? (row['bundle_size'] as number | null),
  };
}

type LinkCursor = Pick<Link, 'createdAt' | 'id'>;

/** A place between two rows. It stays good when the row that it was made of is gone. */
const formatLinkCursor = ({ createdAt, id }: LinkCursor): string => `${createdAt}-${id}`;

function parseLinkCursor(cursor: string): LinkCursor {
  const [, createdAt, id] = /^(\d{1,15})-([0-9a-f]{16})$/.exec(cursor) ?? [];
  if (createdAt === undefined || id === undefined)
    throw new WorkcrateError('invalid_input', 'after is the next of the page before. Leave it out to begin.');
  return { createdAt: Number(createdAt), id };
}

/**
 * Links of all users, for operators: newest first, a page at a time. No token is shown: nobody has one but who was
 * given the link. Whoever asks decides who may see them.
 */
import type { Database, Row } from '../../ports/database/database.ts';
import { joinFileSql } from '../files/files.ts';
import { getLinkState, linkFromRow, type Link, type LinkState } from './link.ts';

export interface LinkListing {
  /** Only of this user; null for all. */
  readonly owner: string | null;
  /** The `next` of the page before; null for the newest. */
  readonly after: string | null;
  readonly limit: number;
}

/** A link as operators see it. */
export interface LinkOfAll extends Pick<
  Link,
  'id' | 'owner' | 'createdAt' | 'expiresAt' | 'singleUse' | 'downloads' | 'lastUsedAt'
> {
  /** Of the file or bundle; null where it is gone, or belongs to a crate. */
  readonly filename: string | null;
  readonly state: LinkState;
}

export interface LinksOfAll {
  readonly links: readonly LinkOfAll[];
  readonly next: string | null;
}

const allLinksCursorForm = /^(\d{1,15})-([0-9a-f]{16})$/;

/** A cursor that is none of ours begins with the newest. */
export async function listLinksOfAll(
  database: Database,
  { owner, after, limit }: LinkListing,
  now: number,
): Promise<LinksOfAll> {
  const [, createdAt, id] = allLinksCursorForm.exec(after ?? '') ?? [];
  const conditions = [
    ...(owner === null ? [] : [{ sql: 'links.owner = ?', values: [owner] }]),
    ...(createdAt === undefined || id === undefined
      ? []
      : [{ sql: '(links.created_at, links.id) < (?, ?)', values: [Number(createdAt), id] }]),
  ];
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.map(({ sql }) => sql).join(' AND ')}`;
  const rows = await database.query(
    `SELECT links.*, files.name AS file_name, bundles.name AS bundle_name
     FROM links ${joinFileSql('links.file_id')} LEFT JOIN bundles ON bundles.id = links.bundle_id
     ${where} ORDER BY links.created_at DESC, links.id DESC LIMIT ?`,
    ...conditions.flatMap(({ values }) => values),
    limit + 1,
  );
  const links = rows.slice(0, limit).map((row) => toLinkOfAll(row, now));
  const last = links.at(-1);
  return { links, next: rows.length > limit && last ? `${last.createdAt}-${last.id}` : null };
}

function toLinkOfAll(row: Row, now: number): LinkOfAll {
  const link = linkFromRow(row);
  const { id, owner, createdAt, expiresAt, singleUse, downloads, lastUsedAt } = link;
  const filename = (row['file_name'] ?? row['bundle_name']) as string | null;
  const state = getLinkState(link, now);
  return { id, owner, filename, state, createdAt, expiresAt, singleUse, downloads, lastUsedAt };
}

/** Whose link has this id; null where there is none. */
export async function findLinkOwner(database: Database, id: string): Promise<string | null> {
  const [row] = await database.query<{ owner: string }>('SELECT owner FROM links WHERE id = ?', id);
  return row?.owner ?? null;
}

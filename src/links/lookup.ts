import { BoundedMap } from '../concurrency/bounded-map.ts';
import type { Database, SqlValue } from '../database/database.ts';
import { joinFileSql, linkedFileSql, readLinkedFile, type Files } from '../files/files.ts';
import { bundleDownload, fileDownload, type Download } from './download.ts';
import { bytesGone, linkFromRow, type Link, type LinksOptions } from './link.ts';

/** A link, and the way to what it points at. */
export interface FoundLink {
  readonly link: Link;
  /** Rejects with `bytes_gone` where the link has outlived what it points at. */
  download(): Promise<Download>;
}

interface Rooms {
  readonly database: Database;
  readonly files: Files;
  readonly elsewhere?: LinksOptions['elsewhere'];
}

const joinFile = joinFileSql('links.file_id');

/** One query for link and file together: it is made for nearly every download. */
export async function findLink(
  { database, files, elsewhere }: Rooms,
  where: string,
  ...values: SqlValue[]
): Promise<FoundLink | null> {
  const [row] = await database.query(
    `SELECT links.*, ${linkedFileSql} FROM links ${joinFile} WHERE ${where}`,
    ...values,
  );
  if (!row) return null;
  const link = linkFromRow(row);
  if (link.bundleId !== null) {
    const { bundleId } = link;
    return { link, download: () => bundleDownload(database, files, bundleId) };
  }
  if (link.target !== null) {
    const { target } = link;
    const renew = (renewed: string): Promise<unknown> =>
      database.query('UPDATE links SET target = ? WHERE target = ?', renewed, target);
    return {
      link,
      download: async () => elsewhere?.download(target, renew) ?? Promise.reject(bytesGone()),
    };
  }
  const file = readLinkedFile(row);
  const download = file === null ? null : fileDownload(files, file);
  return { link, download: async () => download ?? Promise.reject(bytesGone()) };
}

const mostRemembered = 1000;

/**
 * Finds links by the hash of their token, and remembers them for as long as nothing is written to the
 * database: many requests for one link, as for the ranges of a film, then ask it once.
 */
export function createLookup(
  rooms: Rooms & Pick<LinksOptions, 'lookups'>,
): (tokenHash: string) => Promise<FoundLink | null> {
  const { lookups = { hits: 0, misses: 0 } } = rooms;
  const known = new BoundedMap<string, FoundLink>({ mostEntries: mostRemembered, whenFull: 'clear' });
  let knownAt: number | null = null;
  return async (tokenHash) => {
    const version = rooms.database.version();
    if (version !== knownAt) known.clear();
    knownAt = version;
    const remembered = known.get(tokenHash);
    lookups[remembered ? 'hits' : 'misses']++;
    if (remembered) return remembered;
    const found = await findLink(rooms, 'token_hash = ?', tokenHash);
    if (found && version !== null && rooms.database.version() === version) known.set(tokenHash, found);
    return found;
  };
}

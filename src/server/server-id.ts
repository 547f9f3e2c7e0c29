/**
 * The id of this server among those that share a database, in the file `server-id` of the data folder. It is no secret
 * and gives no rights.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import type { Database } from '../ports/database/database.ts';
import { getErrno } from '../platform/errors.ts';

const serverIdForm = /^[0-9a-f]{32}\n$/;

/** Host and data folder of a server: for people, and to find its id again if the file was lost. */
export const describeServerPlace = (data: string): string => `${hostname()}:${resolve(data)}`;

/** The id of the server that last used a place; null where the database knows none. */
type FindKnownServer = (database: Database, place: string) => Promise<string | null>;

/**
 * The id of this server among those on one database: a random one in the data folder, or `local` if the database is not
 * shared. If the folder has none and the database knows a server in the same place, this is that server: its folder was
 * emptied or restored.
 */
export async function openServerId(
  database: Database,
  data: string,
  findKnown: FindKnownServer,
): Promise<string> {
  const known = await findServerId(database, data, findKnown);
  if (!database.isShared) return known!;
  const id = known ?? randomBytes(16).toString('hex');
  if (readIdFile(data) !== id) writeFileSync(join(data, 'server-id'), `${id}\n`, { mode: 0o600 });
  return id;
}

/** The id of the server with this data folder; null if neither the folder nor the database knows it. */
export async function findServerId(
  database: Database,
  data: string,
  findKnown: FindKnownServer,
): Promise<string | null> {
  if (!database.isShared) return 'local';
  const own = readIdFile(data);
  if (own !== null) return own;
  return findKnown(database, describeServerPlace(data));
}

function readIdFile(data: string): string | null {
  try {
    const text = readFileSync(join(data, 'server-id'), 'utf8');
    return serverIdForm.test(text) ? text.trim() : null;
  } catch (error) {
    if (getErrno(error) !== 'ENOENT') throw error;
    return null;
  }
}

import { existsSync } from 'node:fs';
import type { Remark } from '../audit/chain.ts';
import { findServerByFolder, readRemembered, type RememberedHead } from '../audit/read.ts';
import type { Config } from '../config/config.ts';
import { openBackend } from '../database/open.ts';
import { isWorkcrateError, publicMessage } from '../errors.ts';
import { findServerId } from '../server/server-id.ts';
import { getDatabaseLocation } from '../server/store-options.ts';

interface AskedMemory {
  readonly remembered: RememberedHead | null;
  /** Why the log could not be compared with the database. */
  readonly notes: readonly Remark[];
}

/** What the database remembers of the log in this data folder. It is opened as it is, whatever its schema. */
export async function readAuditMemory(config: Config): Promise<AskedMemory> {
  const location = getDatabaseLocation(config);
  if (config.database === null && !existsSync(location))
    return toUncomparedMemory('there is none in the data folder; set --database if it is elsewhere');
  try {
    const database = await openBackend(location);
    try {
      const server = await findServerId(database, config.data, findServerByFolder);
      if (server === null) return toUncomparedMemory('it knows no server in this data folder');
      const remembered = await readRemembered(database, server);
      return remembered === null
        ? toUncomparedMemory('it has no record of the log of this server')
        : { remembered, notes: [] };
    } finally {
      await database.close();
    }
  } catch (error) {
    if (!isWorkcrateError(error)) throw error;
    return toUncomparedMemory(publicMessage(error));
  }
}

const toUncomparedMemory = (why: string): AskedMemory => ({
  remembered: null,
  notes: [{ file: 'the database', line: null, what: `the log could not be compared with it: ${why}` }],
});

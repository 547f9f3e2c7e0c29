import { existsSync } from 'node:fs';
import type { Remark } from '../core/audit/chain.ts';
import { findServerByFolder, readRemembered, type RememberedHead } from '../core/audit/read.ts';
import type { ServerConfig as Config } from '../server/settings.ts';
import { countWaitingEvents } from '../core/audit/waiting.ts';
import type { Database } from '../ports/database/database.ts';
import { openBackend } from '../ports/database/open.ts';
import { isWorkcrateError, publicMessage } from '../platform/errors.ts';
import { findServerId } from '../server/server-id.ts';
import { getDatabaseLocation } from '../core/store-options.ts';

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
      const { notes } = remembered === null ? toUncomparedMemory(noRecord) : { notes: [] };
      return { remembered, notes: [...notes, ...describeWaiting(await countIfKnown(database))] };
    } finally {
      await database.close();
    }
  } catch (error) {
    if (!isWorkcrateError(error)) throw error;
    return toUncomparedMemory(publicMessage(error));
  }
}

/** None in a database from before commands had lines. */
async function countIfKnown(database: Database): Promise<number> {
  try {
    return await countWaitingEvents(database);
  } catch (error) {
    if (isWorkcrateError(error, 'database_failed')) return 0;
    throw error;
  }
}

const noRecord = 'it has no record of the log of this server';

/** Lines of commands that no server has written yet. */
const describeWaiting = (count: number): readonly Remark[] =>
  count === 0
    ? []
    : [
        {
          file: 'the database',
          line: null,
          what: `${count} ${count === 1 ? 'change' : 'changes'} by commands will be in the log within a second, or when a server is started`,
        },
      ];

const toUncomparedMemory = (why: string): AskedMemory => ({
  remembered: null,
  notes: [{ file: 'the database', line: null, what: `the log could not be compared with it: ${why}` }],
});

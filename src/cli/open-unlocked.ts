import { existsSync } from 'node:fs';
import { findUnreadEnvFile, hidePassword } from '../platform/config/config.ts';
import type { ServerConfig as Config } from '../server/settings.ts';
import { makeDataFolder } from '../platform/data-folder/data-folder.ts';
import type { Database } from '../ports/database/database.ts';
import { openDatabase } from '../ports/database/open.ts';
import { WorkcrateError } from '../platform/errors.ts';
import { getDatabaseLocation } from '../core/store-options.ts';
import type { ProgramInput } from './command.ts';

/**
 * Opens the database without the lock on the data folder, which a server may hold: each change is one transaction. It
 * says which one: a command that misses the settings of the service works on another database, and well.
 */
export async function openUnlocked({ config, flags }: OpeningInput, make: boolean): Promise<Database> {
  if (!make) checkData(config);
  if (config.database === null) makeDataFolder(config.data);
  const isNew = config.database === null && !existsSync(getDatabaseLocation(config));
  const database = await openDatabase(getDatabaseLocation(config));
  process.stderr.write(describeOpened(config, isNew, findUnreadEnvFile(flags['service-env'])));
  return database;
}

type OpeningInput = Pick<ProgramInput, 'config' | 'flags'>;

/** For people: programs read what goes to stdout. */
export function describeOpened(config: Config, isNew: boolean, unread: string | null): string {
  const location = hidePassword(getDatabaseLocation(config));
  const what = isNew
    ? `There was no database in ${config.data}: a new one is made, ${location}. A server with other settings does not use it.`
    : `Database: ${location}`;
  const warning = `${unread} has settings of a service, which this command did not read. If they are meant, add --service-env ${unread}.`;
  return `${what}\n${unread === null ? '' : `${warning}\n`}`;
}

/** For commands that only look something up: where no server has stored anything, none of them makes a data folder. */
export function checkData(config: Config): void {
  if (config.database !== null || existsSync(getDatabaseLocation(config))) return;
  throw new WorkcrateError(
    'not_found',
    `There is no data in ${config.data} yet. Set the folder with --data.`,
  );
}

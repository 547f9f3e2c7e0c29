import { existsSync } from 'node:fs';
import type { Config } from '../config/config.ts';
import { makeDataFolder } from '../data-folder/data-folder.ts';
import type { Database } from '../database/database.ts';
import { openDatabase } from '../database/open.ts';
import { WorkcrateError } from '../errors.ts';
import { getDatabaseLocation } from '../server/store-options.ts';

/** Opens the database without the lock on the data folder, which a server may hold: each change is one transaction. */
export async function openUnlocked(config: Config, make: boolean): Promise<Database> {
  if (!make) demandData(config);
  else if (config.database === null) makeDataFolder(config.data);
  return openDatabase(getDatabaseLocation(config));
}

/** For commands that only look something up: where no server has stored anything, none of them makes a data folder. */
export function demandData(config: Config): void {
  if (config.database !== null || existsSync(getDatabaseLocation(config))) return;
  throw new WorkcrateError(
    'not_found',
    `There is no data in ${config.data} yet. Set the folder with --data.`,
  );
}

import type { Database } from '../../database/database.ts';
import { openDatabase } from '../../database/open.ts';
import { isWorkcrateError, WorkcrateError } from '../../errors.ts';

/** Opens the index. One that is damaged is no loss: whoever reads the log is told so. */
export async function openIndex(location: string): Promise<Database> {
  try {
    return await openDatabase(location, 'crates');
  } catch (error) {
    if (!isWorkcrateError(error, 'database_failed') || location.startsWith('postgres')) throw error;
    const remedy = `This is the index of crates: stop the server, delete ${location} and ${location}-wal, and it is made anew.`;
    throw new WorkcrateError('database_failed', `${error.message} ${remedy}`, { cause: error });
  }
}

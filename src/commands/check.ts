import { existsSync } from 'node:fs';
import { countCutOffPackings } from '../crating.ts';
import { lockFolder } from '../data-folder.ts';
import { openDatabase } from '../database/open.ts';
import { isWorkcrateError, WorkcrateError } from '../errors.ts';
import { verifyFiles } from '../files/verify.ts';
import { openStorage } from '../storage/open.ts';
import { databaseLocation, storageOptions } from '../stores.ts';
import type { CommandInput } from './command.ts';

/** `workcrate check`: does storage hold what the database says? Exit code 1 if not. */
export async function check({ config, flags }: CommandInput): Promise<number> {
  const location = databaseLocation(config);
  if (config.database === null && !existsSync(location))
    throw new WorkcrateError(
      'not_found',
      `There is no data in ${config.data} yet. Name the folder with --data.`,
    );
  using lock = lockUnlessServed(config.data);
  await using opened = new AsyncDisposableStack();
  const database = opened.adopt(await openDatabase(location), (it) => it.close());
  const storage = opened.adopt(await openStorage(storageOptions(config)), (it) => it.close());
  const result = await verifyFiles({
    database,
    storage,
    readData: flags['read-data'] !== undefined,
    findOrphans: lock !== null,
    report: (checked) => showProgress(checked),
  });
  for (const problem of result.problems) process.stdout.write(`problem: ${problem}\n`);
  if (lock === null)
    process.stdout.write('a server is using this data: objects without a file were not looked for\n');
  const cutOff = lock === null ? 0 : countCutOffPackings(config);
  if (cutOff > 0)
    process.stdout.write(
      `${cutOff} unfinished crates of packings that were cut off: the next start removes them\n`,
    );
  const verdict = result.problems.length === 0 ? 'all is well' : `${result.problems.length} problems`;
  process.stdout.write(`checked ${result.files} files, ${result.bytes} bytes: ${verdict}\n`);
  return result.problems.length === 0 ? 0 : 1;
}

function lockUnlessServed(folder: string): Disposable | null {
  try {
    return lockFolder(folder);
  } catch (error) {
    if (isWorkcrateError(error, 'data_in_use')) return null;
    throw error;
  }
}

function showProgress(checked: number): void {
  if (process.stderr.isTTY && checked % 100 === 0) process.stderr.write(`\r${checked} files …`);
}

/**
 * Reads pages of a table in a thread, which is killed when it takes too long: the text is a user's. It reads no file; its
 * caller gives it the text.
 */
import { extname } from 'node:path';
import type { Log } from '../../platform/observability/log.ts';
import { createThread } from '../../platform/workers/workers.ts';
import type { TableJob, TableMethods, TablePage } from './table-thread.ts';

export interface TableReader extends AsyncDisposable {
  /** Null where it cannot be read, or not in time. */
  readPage(job: TableJob): Promise<TablePage | null>;
}

const readMs = 4000;

export function createTableReader({ log }: { readonly log: Log }): TableReader {
  const file = new URL(`./table-thread${extname(import.meta.filename)}`, import.meta.url);
  const thread = createThread<TableMethods>(file, null, log);
  return {
    async readPage(job) {
      const timer = setTimeout(() => thread.kill(new Error('A table took too long.')), readMs);
      try {
        return await thread.call('readPage', job);
      } catch (error) {
        log.debug('preview.failed', { kind: 'table', error });
        return null;
      } finally {
        clearTimeout(timer);
      }
    },
    [Symbol.asyncDispose]: () => thread[Symbol.asyncDispose](),
  };
}

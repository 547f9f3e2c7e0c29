/**
 * Which execution made a file last, by the file's path and its state when that execution ended. A file that was changed
 * since by anything else has another state, and so no maker.
 */
import type { Queries } from '../database/database.ts';
import { formatFileState } from './file-hashes.ts';
import type { FileState, MadeFile } from './folder-diff.ts';

/** Of one run; of further files nobody knows later who made them. */
const maxMadeFiles = 200;
const maxMadeBytes = 16 * 1024;

/** Remembers what a run made. Its row has to be there. */
export async function recordMakers(
  queries: Queries,
  { id, owner }: { readonly id: string; readonly owner: string },
  made: readonly MadeFile[],
): Promise<void> {
  const kept = keepFirst(made);
  if (kept.length === 0) return;
  await queries.query(
    `INSERT INTO made_files (owner, path, execution_id, state) VALUES ${kept.map(() => '(?, ?, ?, ?)').join(', ')}
     ON CONFLICT (owner, path) DO UPDATE SET execution_id = excluded.execution_id, state = excluded.state`,
    ...kept.flatMap(({ path, state }) => [owner, path, id, formatFileState(state)]),
  );
}

function keepFirst(made: readonly MadeFile[]): readonly MadeFile[] {
  let bytes = 0;
  return made.slice(0, maxMadeFiles).filter(({ path }) => (bytes += Buffer.byteLength(path)) <= maxMadeBytes);
}

/** The executions that made these files, by the paths of those that one is known of. */
export async function findMakers(
  queries: Queries,
  owner: string,
  files: readonly MadeFile[],
): Promise<ReadonlyMap<string, string>> {
  if (files.length === 0) return new Map();
  const rows = await queries.query<{ path: string; execution_id: string; state: string }>(
    `SELECT path, execution_id, state FROM made_files WHERE owner = ? AND path IN (${files.map(() => '?').join(', ')})`,
    owner,
    ...files.map(({ path }) => path),
  );
  const states = new Map<string, FileState>(files.map(({ path, state }) => [path, state]));
  return new Map(
    rows
      .filter(({ path, state }) => formatFileState(states.get(path)!) === state)
      .map(({ path, execution_id: id }) => [path, id]),
  );
}

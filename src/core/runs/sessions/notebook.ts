/**
 * A session as a notebook (.ipynb): the cells that its state comes from, with their results, as a stored file. How a
 * notebook is written is in `core/runs/notebook.ts`.
 */
import { WorkcrateError } from '../../../platform/errors.ts';
import { writeNotebook, type Execution } from '../executions.ts';
import type { StoredFile } from '../../files/files.ts';
import type { Caller } from '../../identity.ts';
import { nameSession } from './errors.ts';
import type { Room } from './going-back.ts';
import { listCellsInEffect } from './replay.ts';
import type { SessionRecord } from './store.ts';

/** Stores the notebook. `name` is what its file is called; without one, as the session is. */
export async function exportNotebook(
  room: Room,
  caller: Caller,
  idOrName: string,
  name: string | null,
): Promise<{ record: SessionRecord; cells: number; file: StoredFile }> {
  const { record, executionIds } = await listCellsInEffect(room, caller, idOrName);
  if (executionIds.length === 0)
    throw new WorkcrateError('not_found', `The session ${nameSession(record)} has no recorded cells.`);
  const { files, keepFileSeconds: keepSeconds } = room;
  const title = (name ?? record.name ?? record.id).replace(/\.ipynb$/i, '');
  const file = {
    name: `${title}.ipynb`,
    mediaType: 'application/x-ipynb+json',
    origin: 'notebook',
    keepSeconds,
  };
  const bytes = writeNotebook(
    { files, caller, language: record.language },
    readCells(room, caller, executionIds),
  );
  return { record, cells: executionIds.length, file: await files.add(caller, file, bytes) };
}

/** One at a time: a record may have megabytes. */
async function* readCells(
  { executions }: Room,
  caller: Caller,
  ids: readonly string[],
): AsyncGenerator<Execution> {
  for (const id of ids) yield await executions.get(caller, id);
}

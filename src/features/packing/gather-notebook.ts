/** A session as a notebook in its crate. How a notebook is written is in `core/runs/notebook.ts`. */
import { isWorkcrateError, WorkcrateError } from '../../platform/errors.ts';
import { writeNotebook, type Execution } from '../../core/runs/executions.ts';
import { collectBytes } from '../../platform/streams.ts';
import type { SessionToPack } from './chain.ts';
import { addTextFile, type PackCollector } from './gather.ts';
import type { PackedFile } from './packed.ts';

/** What a page of a notebook may take in memory, with its figures. */
const maxNotebookBytes = 128 * 1024 ** 2;

export async function collectNotebook(
  collector: PackCollector,
  { record }: SessionToPack,
  executions: readonly Execution[],
): Promise<PackedFile[]> {
  const { files, caller, notes } = collector;
  const bytes = writeNotebook({ files, caller, language: record.language }, executions);
  const tooLarge = (): WorkcrateError => new WorkcrateError('too_large', 'The notebook is too large.');
  try {
    const text = (await collectBytes(bytes, { limit: maxNotebookBytes, tooLong: tooLarge })).toString();
    const labels = {
      folder: 'notebook',
      name: `${record.name ?? record.id}.ipynb`,
      knownAs: [],
      description: 'The session as a notebook, with what its cells showed',
    };
    return [await addTextFile(collector, text, 'application/x-ipynb+json', labels)];
  } catch (error) {
    if (!isWorkcrateError(error, 'too_large')) throw error;
    notes.push(`The notebook would have more than ${maxNotebookBytes} bytes, so it is left out.`);
    return [];
  }
}

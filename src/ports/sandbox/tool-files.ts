/**
 * Writes what code finds in /tools/mcp to this machine, for backends that mount or show folders of it. Bubblewrap writes
 * it inside the sandbox instead (`workcrate_inside/tools.py`).
 */
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { removeTree } from '../../platform/paths/paths.ts';
import type { RunTools, Workspace } from './sandbox.ts';

/** The files are the server's: where it is root, the uid of runs can read them only. */
export async function writeToolFiles(folder: string, files: RunTools['files']): Promise<void> {
  for (const [path, text] of files) {
    await mkdir(dirname(join(folder, path)), { recursive: true, mode: 0o755 });
    await writeFile(join(folder, path), text, { mode: 0o644 });
  }
}

/** A folder with the files for one run, beside the user's own folders, where no code can write. */
export interface ToolFolder extends AsyncDisposable {
  readonly path: string;
}

export async function makeToolFolder({ workspace }: Workspace, { files }: RunTools): Promise<ToolFolder> {
  const parent = join(dirname(workspace), 'tools');
  await mkdir(parent, { recursive: true, mode: 0o755 });
  const made = await mkdtemp(join(parent, 'run-'));
  const path = join(made, 'mcp');
  await writeToolFiles(path, files);
  return { path, [Symbol.asyncDispose]: () => removeTree(made) };
}

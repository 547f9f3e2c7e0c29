/**
 * The home and temporary folders of runs without walls. It creates no user's folders (`core/workspaces/` does) and does not
 * limit what is written to them (`../disk.ts` does).
 */
import { constants } from 'node:fs';
import { chmod, chown, copyFile, cp, mkdir, mkdtemp, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { removeTree } from '../../../platform/paths/paths.ts';
import { getNodeModules } from '../environments.ts';
import { insideFolder } from '../inside-folder.ts';
import type { SandboxFolders, RunRequest } from '../sandbox.ts';
import { writeToolFiles } from '../tool-files.ts';

/** The folder with the folders of all runs. */
export interface SubprocessFolders extends AsyncDisposable {
  readonly path: string;
  /** Contains `node`, first in the PATH of runs. */
  readonly programs: string;
  /** Our Python modules, where every uid can read them. */
  readonly modules: string;
  folderFor(request: FolderRequest, uid: number, folders: SandboxFolders): Promise<RunFolder>;
}

type FolderRequest = Pick<RunRequest, 'id' | 'place' | 'code' | 'stdin' | 'workingDir' | 'tools'>;

/** What a run needs outside of the user's folders. It is removed after the run. */
export interface RunFolder {
  readonly home: string;
  readonly tmp: string;
  /** Files with the code and the input. */
  readonly code: string;
  readonly stdin: string;
  /** With the tools that code may call in `mcp` below it, where it may. */
  readonly tools: string;
  hostPathOf(inside: string): string;
  remove(): Promise<void>;
}

export async function createSubprocessFolders(): Promise<SubprocessFolders> {
  const path = await mkdtemp(join(tmpdir(), 'workcrate-runs-'));
  // Runs have other uids: they may pass through, but see nothing of each other.
  await chmod(path, 0o711);
  const programs = join(path, 'bin');
  await mkdir(programs, { mode: 0o755 });
  await provideNode(join(programs, 'node'));
  const modules = join(path, 'inside');
  await cp(insideFolder, modules, { recursive: true });
  return {
    path,
    programs,
    modules,
    folderFor: (request, uid, folders) => makeRunFolder(path, request, uid, folders),
    [Symbol.asyncDispose]: () => removeTree(path),
  };
}

/** A Node below a home folder that is closed to others is copied, since runs have another uid. */
async function provideNode(at: string): Promise<void> {
  if (process.getuid?.() !== 0 || (await isOpenToAll(process.execPath))) return symlink(process.execPath, at);
  await copyFile(process.execPath, at, constants.COPYFILE_FICLONE);
  await chmod(at, 0o755);
}

/** Whether every uid can get there. */
export async function isOpenToAll(path: string): Promise<boolean> {
  const { mode } = await stat(path);
  if ((mode & 0o001) === 0) return false;
  return dirname(path) === path || isOpenToAll(dirname(path));
}

async function makeRunFolder(
  parent: string,
  { id, place, code, stdin, workingDir, tools: runTools = null }: FolderRequest,
  uid: number,
  folders: SandboxFolders,
): Promise<RunFolder> {
  const folder = await mkdtemp(join(parent, `${id}-`));
  const [home, tmp] = [join(folder, 'home'), join(folder, 'tmp')];
  await mkdir(home, { mode: 0o700 });
  await mkdir(tmp, { mode: 0o700 });
  // The same names for everybody, so that the description of a tool can name them: ~/workspace, ~/artifacts.
  for (const [name, target] of Object.entries(folders) as [string, string | null][])
    if (target !== null) await symlink(target, join(home, name));
  // For code in the home or temporary folder.
  if (place.packages !== null) await symlink(getNodeModules(place.packages), join(folder, 'node_modules'));
  await writeFile(join(folder, 'main'), code, { mode: 0o644 });
  await writeFile(join(folder, 'stdin'), stdin, { mode: 0o644 });
  const tools = join(folder, 'tools');
  if (runTools !== null) await writeToolFiles(join(tools, 'mcp'), runTools.files);
  const roots = {
    '/workspace': place.workspace,
    '/artifacts': place.artifacts,
    '/tmp': tmp,
    '/home/user': home,
  };
  const made = await createWorkingFolder(folder, toHostPath(roots, workingDir));
  // The outermost comes last: until then nobody else can enter.
  if (place.uid !== null) for (const path of [...made, home, tmp, folder]) await chown(path, uid, uid);
  return {
    home,
    tmp,
    code: join(folder, 'main'),
    stdin: join(folder, 'stdin'),
    tools,
    hostPathOf: (inside) => toHostPath(roots, inside),
    remove: () => removeTree(folder),
  };
}

/** Makes a working directory in what is the run's alone, and names the folders from it up to there. */
async function createWorkingFolder(folder: string, path: string): Promise<string[]> {
  if (!path.startsWith(`${folder}/`)) return [];
  await mkdir(path, { recursive: true });
  const made: string[] = [];
  for (let at = path; at !== folder; at = dirname(at)) made.push(at);
  return made;
}

function toHostPath(roots: Readonly<Record<string, string>>, inside: string): string {
  const root = Object.keys(roots).find((root) => inside === root || inside.startsWith(`${root}/`));
  return root === undefined ? inside : join(roots[root]!, inside.slice(root.length));
}

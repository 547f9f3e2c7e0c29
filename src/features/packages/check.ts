/**
 * Looks at what an install has left before any run sees it: regular files and folders, links that stay inside, and what
 * is installed in which version. It believes what is on the disk, not what the program that installed it says.
 */
import { posix } from 'node:path';
import { z } from 'zod';
import { runInSlices } from '../../platform/concurrency/yield.ts';
import { isWorkcrateError, WorkcrateError } from '../../platform/errors.ts';
import {
  openBelow,
  parsePath,
  readOpenFile,
  rootPath,
  type FolderRoot,
  type TreeEntry,
} from '../../platform/paths/paths.ts';
import type { PackageLanguage } from '../../ports/sandbox/environments.ts';
import { collectBytes } from '../../platform/streams.ts';
import { quoteShort } from '../../platform/text/text.ts';
import type { InstalledPackage, Manifest } from './store.ts';

const maxTreeSize = 400_000;
const maxTreeDepth = 60;
const maxTreeBytes = 64 * 1024 ** 2;
const maxLockBytes = 64 * 1024 ** 2;
const maxPackages = 5000;

export type InspectedEnvironment = Pick<Manifest, 'bytes' | 'modules' | 'installed'>;

/** Throws `install_failed` for what no install leaves. `version` is that of Python, such as `3.11`. */
export async function inspectEnvironment(
  folder: string,
  language: PackageLanguage,
  version: string,
): Promise<InspectedEnvironment> {
  const root = openBelow(folder);
  await checkTree(root, language);
  const { bytes } = await runInSlices(root.space(maxTreeSize), {});
  const found =
    language === 'python'
      ? listDistributions(root, version)
      : { installed: await listNodePackages(root), modules: [] };
  const installed = found.installed
    .slice(0, maxPackages)
    .sort((one, other) => (one.name < other.name ? -1 : 1));
  return { bytes, modules: found.modules, installed };
}

async function checkTree(root: FolderRoot, language: PackageLanguage): Promise<void> {
  const options = { mostEntries: maxTreeSize, mostDepth: maxTreeDepth, mostBytes: maxTreeBytes };
  const take = (entry: TreeEntry): void => checkPackageEntry(root, language, entry);
  const end = await runInSlices(root.tree(rootPath, options), { take });
  if (end.cut) throw brokenError(`it has more than ${maxTreeSize} files`);
  if (end.unreadable > 0 || end.unentered > 0) throw brokenError('it has files that cannot be read');
}

/** The interpreter itself is a link that leads out, in every virtual environment. */
const interpreterPath = /^bin\/python[\d.]*$/;

function checkPackageEntry(root: FolderRoot, language: PackageLanguage, { path, stats }: TreeEntry): void {
  if (path === null || stats.isFile() || stats.isDirectory()) return;
  const shown = quoteShort(path, 200);
  if (!stats.isSymbolicLink()) throw brokenError(`${shown} is neither a file nor a folder`);
  if (language === 'python' && interpreterPath.test(path)) return;
  const target = root.readLink(parsePath(path));
  const end = posix.join(posix.dirname(path), target);
  if (target.startsWith('/') || end === '..' || end.startsWith('../'))
    throw brokenError(`${shown} is a link that leads out of the environment`);
}

const brokenError = (why: string): WorkcrateError =>
  new WorkcrateError(
    'install_failed',
    `What was installed is not accepted: ${why}. Nothing was changed. One of the packages is broken or hostile; ask for others.`,
  );

const distributionFolder = /^([A-Za-z0-9][A-Za-z0-9._-]{0,100})-(\d[\w.!+]{0,60})\.(?:dist-info|egg-info)$/;
const moduleFile = /^([A-Za-z_]\w{0,100})(?:\.py|\.pyc|(?:\.[\w-]+)?\.so)$/;
const moduleFolder = /^[A-Za-z_]\w{0,100}$/;

function listDistributions(root: FolderRoot, version: string) {
  const { entries } = root.list(parsePath(`lib/python${version}/site-packages`));
  const installed = entries.flatMap(({ name }): InstalledPackage[] => {
    const [, title, number] = distributionFolder.exec(name) ?? [];
    return title === undefined ? [] : [{ name: title.replaceAll('_', '-'), version: number! }];
  });
  const modules = entries.flatMap(({ name, type }) => {
    if (type === 'folder') return moduleFolder.test(name) && name !== '__pycache__' ? [name] : [];
    return moduleFile.exec(name)?.[1] ?? [];
  });
  return { installed, modules: [...new Set(modules)].sort() };
}

/** What npm writes about what it has installed. */
const lockSchema = z.object({
  packages: z.record(z.string(), z.object({ version: z.string().max(100).optional() })),
});

const topPackage = /^node_modules\/((?:@[A-Za-z0-9][\w.-]{0,100}\/)?[A-Za-z0-9][\w.-]{0,100})$/;
const nodeVersion = /^\d[\w.+-]{0,80}$/;

async function listNodePackages(root: FolderRoot): Promise<InstalledPackage[]> {
  const lock = lockSchema.safeParse(await readPackageJson(root, 'node_modules/.package-lock.json')).data;
  if (lock === undefined) throw brokenError('npm has not said what it installed');
  return Object.entries(lock.packages).flatMap(([path, { version = '' }]) => {
    const [, name] = topPackage.exec(path) ?? [];
    return name === undefined || !nodeVersion.test(version) ? [] : [{ name, version }];
  });
}

async function readPackageJson(root: FolderRoot, path: string): Promise<unknown> {
  try {
    using file = root.open(parsePath(path));
    if (file.stats.size > maxLockBytes) return null;
    return JSON.parse((await collectBytes(readOpenFile(file))).toString());
  } catch (error) {
    if (error instanceof SyntaxError || isWorkcrateError(error, 'path_not_found')) return null;
    throw error;
  }
}

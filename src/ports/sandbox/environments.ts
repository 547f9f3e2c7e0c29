/**
 * Where the packages that a user installed are, and what a sandbox has to know of them. Below a user's `packages`:
 *
 *   python/ID/               a virtual environment; `python/ID.json` says what is in it, once it is whole
 *   python/current           a link to the one that runs see
 *   node/ID/node_modules     as Node looks for it; `node/current` likewise
 *   node/names/              a link for each package of `node/current`, for a root folder that can have no link itself
 *   cache/                   what was downloaded, for installs alone: no run sees it; `cache.json` has its size while nobody
 *                            writes to it
 *
 * It installs nothing and writes no manifest: `features/packages/` does.
 */
import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { BoundedMap } from '../../platform/concurrency/bounded-map.ts';
import { getErrno } from '../../platform/errors.ts';
import { openBelow, type FolderSpace } from '../../platform/paths/paths.ts';
import type { Workspace } from './sandbox.ts';

/** The languages that packages can be installed for. */
export const packageLanguages = ['python', 'node'] as const;
export type PackageLanguage = (typeof packageLanguages)[number];

/** What a run that installs packages may write, and what it needs. */
export interface Installation {
  readonly language: PackageLanguage;
  /** The id of an environment whose folder exists, empty, and belongs to the user. */
  readonly environment: string;
  /** The folder of npm on this machine, where it is needed. */
  readonly npm: string | null;
}

/** Where Node finds the current packages. */
export const getNodeModules = (packages: string): string => join(packages, 'node/current/node_modules');

/** Where packages are inside, if they can be mounted. */
export const packagesInside = '/packages';
export const npmInside = '/opt/workcrate/npm';
/** For the PATH of runs: commands that packages have brought. */
export const packageProgramFolders = (packages: string): string[] => [
  join(packages, 'python/current/bin'),
  join(getNodeModules(packages), '.bin'),
];

export const cacheFolder = 'cache';
/** Mounted as /node_modules where that cannot be a link. */
export const nodeNamesFolder = 'node/names';

/** The variables by which the program that installs finds its way. No other run has them. */
export const getInstallVariables = (packages: string, npm: string): Readonly<Record<string, string>> => ({
  WORKCRATE_PACKAGES: packages,
  WORKCRATE_NPM: npm,
});

/** Paths below a user's packages that this run may write. */
export const listWritableFolders = ({ language, environment }: Installation): string[] => [
  join(language, environment),
  cacheFolder,
];

/** They are the server's own; those who run code as this uid may look into them. */
export function makePackageFolders(packages: string, uid: number | null): void {
  for (const name of ['', ...packageLanguages, nodeNamesFolder]) makeUserFolder(join(packages, name), uid);
  const cache = join(packages, cacheFolder);
  makeUserFolder(cache, uid);
  if (uid !== null) chownSync(cache, uid, uid);
}

/** As root the server keeps it, and lets in the group that is the user's alone. */
function makeUserFolder(folder: string, uid: number | null): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (uid !== null) chownSync(folder, process.getuid!(), uid);
  chmodSync(folder, 0o750);
}

const idPattern = /^[0-9a-f]{12}$/;

/** The id of the environment that runs see; null if there is none. */
export function findCurrentEnvironment(packages: string, language: PackageLanguage): string | null {
  try {
    const target = readlinkSync(join(packages, language, 'current'));
    return idPattern.test(target) ? target : null;
  } catch (error) {
    if (['ENOENT', 'EINVAL'].includes(getErrno(error) ?? '')) return null;
    throw error;
  }
}

export const getManifestFile = (packages: string, language: PackageLanguage, id: string): string =>
  join(packages, language, `${id}.json`);

/** What the sandbox reads in a manifest. */
interface KnownFolder {
  readonly bytes: number;
  /** Of Python: the names that `import` takes, of top-level modules. */
  readonly modules: ReadonlySet<string>;
}

/** An id stands for one environment for ever, so what was read of it stays true. */
const knownEnvironments = new BoundedMap<string, KnownFolder>({ mostEntries: 200 });
const noModules: ReadonlySet<string> = new Set();

/** The top-level modules that the Python packages of a user bring. */
export function readInstalledModules({ packages }: Pick<Workspace, 'packages'>): ReadonlySet<string> {
  const id = packages === null ? null : findCurrentEnvironment(packages, 'python');
  if (id === null) return noModules;
  const file = getManifestFile(packages!, 'python', id);
  const known = knownEnvironments.use(file) ?? readKnownFolder(file);
  if (known === null) return noModules;
  knownEnvironments.set(file, known);
  return known.modules;
}

/** Null where there is no such file, or none of ours. */
function readKnownFolder(file: string): KnownFolder | null {
  try {
    const { bytes, modules = [] } = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
    if (typeof bytes !== 'number' || !(bytes >= 0) || !Array.isArray(modules)) return null;
    return { bytes, modules: new Set(modules.filter((name) => typeof name === 'string')) };
  } catch (error) {
    if (error instanceof SyntaxError || getErrno(error) === 'ENOENT') return null;
    throw error;
  }
}

/**
 * What a user's packages take on disk. Folders that nobody can write to any more are not looked into: their sizes are
 * known, and they may have ten thousands of files.
 */
export function* countPackages(packages: string, mostEntries: number): Generator<void, PackagesSpace> {
  let bytes = 0;
  let mayHideMore = false;
  for (const folder of listEnvironmentFolders(packages)) {
    yield;
    const known = readKnownFolder(`${folder}.json`);
    if (known !== null) bytes += known.bytes;
    else {
      const space = yield* openBelow(folder).space(mostEntries);
      // An install renames and deletes faster than folders are listed, so one that was not counted whole is not at fault
      // yet. It is if the file system fills by more than was found, time and again.
      bytes += space.leastBytes;
      mayHideMore ||= space.bytes === Infinity;
      if (space.isCut) return { bytes, isCut: true, mayHideMore };
    }
  }
  return { bytes, isCut: false, mayHideMore };
}

export interface PackagesSpace extends Pick<FolderSpace, 'bytes' | 'isCut'> {
  /** Not all of it could be counted. */
  readonly mayHideMore: boolean;
}

function listEnvironmentFolders(packages: string): string[] {
  const environments = packageLanguages.flatMap((language) => {
    const folder = join(packages, language);
    return listFolderNames(folder)
      .filter((name) => idPattern.test(name))
      .map((name) => join(folder, name));
  });
  return [...environments, join(packages, cacheFolder)];
}

function listFolderNames(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (getErrno(error) === 'ENOENT') return [];
    throw error;
  }
}

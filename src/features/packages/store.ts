/**
 * The environments of users on disk: making the folder for one, letting runs see it in one step, removing those that
 * nobody needs. What is in a manifest is written here; the layout is that of `ports/sandbox/environments.ts`. It runs nothing.
 */
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { getErrno } from '../../platform/errors.ts';
import { removeTree, syncFileSystem, syncFolder } from '../../platform/paths/paths.ts';
import {
  cacheFolder,
  findCurrentEnvironment,
  getManifestFile,
  getNodeModules,
  nodeNamesFolder,
  packageLanguages,
  packagesInside,
  type PackageLanguage,
} from '../../ports/sandbox/environments.ts';
import type { Workspace } from '../../ports/sandbox/sandbox.ts';

/** A user's folders, of which there are packages. */
export type PackagePlace = Workspace & { readonly packages: string };

const installedPackage = z.object({ name: z.string(), version: z.string() });
export type InstalledPackage = z.infer<typeof installedPackage>;

const environmentSchema = z.object({
  /** What it takes on disk. */
  bytes: z.number(),
  /** Of Python, the names that `import` takes. */
  modules: z.array(z.string()),
  /** What was asked for, sorted. */
  requested: z.array(z.string()),
  /** All that is there, sorted by name. */
  installed: z.array(installedPackage),
  /** What it was made in: the kind of sandbox and the version of the interpreter. */
  madeIn: z.string(),
  registry: z.string(),
  madeAt: z.number(),
  tookMs: z.number(),
  /** The one that runs saw before. */
  previous: z.string().nullable(),
});
export type Manifest = z.infer<typeof environmentSchema>;

/** The environment that runs see. */
export interface CurrentEnvironment extends Manifest {
  readonly id: string;
}

/** Whether the user was here since there are packages, and nobody has removed the folders. */
export const hasPackageFolders = ({ packages }: PackagePlace): boolean =>
  [...packageLanguages, cacheFolder].every((name) => existsSync(join(packages, name)));

/** Null where nothing is installed, or where what is there is damaged (`repairCurrent`). */
export function readCurrent(
  { packages }: PackagePlace,
  language: PackageLanguage,
): CurrentEnvironment | null {
  const id = findCurrentEnvironment(packages, language);
  const manifest = id === null ? null : readManifest(packages, language, id);
  return manifest === null ? null : { ...manifest, id: id! };
}

function readManifest(packages: string, language: PackageLanguage, id: string): Manifest | null {
  try {
    const text = readFileSync(getManifestFile(packages, language, id), 'utf8');
    return environmentSchema.safeParse(JSON.parse(text)).data ?? null;
  } catch (error) {
    if (error instanceof SyntaxError || getErrno(error) === 'ENOENT') return null;
    throw error;
  }
}

export const getEnvironmentFolder = (
  { packages }: PackagePlace,
  language: PackageLanguage,
  id: string,
): string => join(packages, language, id);

/** An empty folder that code of the user may write to. While it has no manifest, it is nobody's environment. */
export function makeEnvironment(place: PackagePlace, language: PackageLanguage): string {
  const id = randomBytes(6).toString('hex');
  const folder = getEnvironmentFolder(place, language, id);
  mkdirSync(folder, { mode: 0o700 });
  if (place.uid !== null) chownSync(folder, place.uid, place.uid);
  // From now on its size is not known.
  rmSync(join(place.packages, `${cacheFolder}.json`), { force: true });
  return id;
}

/**
 * Lets runs see an environment from now on, and all of it at once. When it returns, no loss of power takes it back, and
 * none leaves runs with half of it: all of it is on the disk before they see it.
 */
export async function publish(
  { packages }: PackagePlace,
  language: PackageLanguage,
  id: string,
  manifest: Manifest,
): Promise<void> {
  const file = getManifestFile(packages, language, id);
  writeFileSync(`${file}.part`, JSON.stringify(manifest), { mode: 0o644 });
  renameSync(`${file}.part`, file);
  if (language === 'node') addNodeNames(packages, listTopNames(manifest));
  await syncFileSystem(packages);
  replaceCurrent(packages, language, id);
  rmSync(getDamageNote(packages, language), { force: true });
  if (language === 'node') removeNodeNames(packages, new Set(listTopNames(manifest)));
}

function replaceCurrent(packages: string, language: PackageLanguage, id: string): void {
  const folder = join(packages, language);
  const next = join(folder, `next-${id}`);
  rmSync(next, { force: true });
  symlinkSync(id, next);
  renameSync(next, join(folder, 'current'));
  syncFolder(folder);
}

/** From now on nothing is installed. */
export function withdraw({ packages }: PackagePlace, language: PackageLanguage): void {
  for (const gone of [join(packages, language, 'current'), getDamageNote(packages, language)])
    rmSync(gone, { force: true });
  syncFolder(join(packages, language));
  if (language === 'node') removeNodeNames(packages, new Set());
}

/** Whether `repairCurrent` has something to do. */
export const needsRepair = (place: Pick<PackagePlace, 'packages'>, language: PackageLanguage): boolean =>
  findDamaged(place, language) !== null;

/** Says that an environment was damaged, until something is installed again. */
const getDamageNote = (packages: string, language: PackageLanguage): string =>
  join(packages, language, 'damaged.json');

/** Whether what runs saw last was damaged: they see what was there before it, if anything. */
export const isDamaged = (place: Pick<PackagePlace, 'packages'>, language: PackageLanguage): boolean =>
  existsSync(getDamageNote(place.packages, language)) || needsRepair(place, language);

/** The id of the environment that runs see, if nobody can tell what is in it. */
function findDamaged(place: Pick<PackagePlace, 'packages'>, language: PackageLanguage): string | null {
  const id = findCurrentEnvironment(place.packages, language);
  return id !== null && readManifest(place.packages, language, id) === null ? id : null;
}

export interface RepairedEnvironment {
  readonly damaged: string;
  /** What runs see now; null if there was no other, and then all is left as it is. */
  readonly restored: string | null;
}

/** Lets runs see the newest whole environment where theirs is damaged. Nothing may be installed meanwhile. */
export function repairCurrent(place: PackagePlace, language: PackageLanguage): RepairedEnvironment | null {
  const damaged = findDamaged(place, language);
  if (damaged === null) return null;
  const { packages } = place;
  const whole = readdirSync(join(packages, language))
    .filter((name) => environmentIdPattern.test(name))
    .map((id) => ({ id, manifest: readManifest(packages, language, id) }))
    .filter(({ manifest }) => manifest !== null)
    .toSorted((one, other) => other.manifest!.madeAt - one.manifest!.madeAt)[0];
  if (whole === undefined) return { damaged, restored: null };
  writeFileSync(getDamageNote(packages, language), JSON.stringify({ damaged }), { mode: 0o644 });
  if (language === 'node') addNodeNames(packages, listTopNames(whole.manifest!));
  replaceCurrent(packages, language, whole.id);
  return { damaged, restored: whole.id };
}

/** The names that stand directly in node_modules: a scope stands for all of its packages. */
const listTopNames = ({ installed }: Manifest): string[] => [
  ...new Set(installed.map(({ name }) => name.split('/')[0]!)),
];

/** Each leads through `current`, so that which version it is changes with that. */
function addNodeNames(packages: string, names: readonly string[]): void {
  for (const name of names)
    try {
      symlinkSync(join(getNodeModules(packagesInside), name), join(packages, nodeNamesFolder, name));
    } catch (error) {
      if (getErrno(error) !== 'EEXIST') throw error;
    }
}

function removeNodeNames(packages: string, kept: ReadonlySet<string>): void {
  const folder = join(packages, nodeNamesFolder);
  for (const name of readdirSync(folder)) if (!kept.has(name)) rmSync(join(folder, name), { force: true });
}

/** Removes what came of an install that failed. */
export async function discard(place: PackagePlace, language: PackageLanguage, id: string): Promise<void> {
  await removeTree(join(place.packages, cacheFolder, `scratch-${id}`));
  await removeTree(getEnvironmentFolder(place, language, id));
  rmSync(getManifestFile(place.packages, language, id), { force: true });
}

/** Removes downloads. The next install fetches them again. */
export async function clearCache({ packages, uid }: PackagePlace): Promise<void> {
  const folder = join(packages, cacheFolder);
  for (const name of readdirSync(folder)) await removeTree(join(folder, name));
  if (uid !== null) chownSync(folder, uid, uid);
  chmodSync(folder, 0o750);
}

/** What the cache takes, so that it need not be counted until the next install writes to it. */
export function noteCacheSize({ packages }: PackagePlace, bytes: number): void {
  writeFileSync(join(packages, `${cacheFolder}.json`), JSON.stringify({ bytes }), { mode: 0o644 });
}

const scratchPattern = /^scratch-/;
const environmentIdPattern = /^[0-9a-f]{12}$/;
const environmentPattern = /^([0-9a-f]{12})(?:\.json)?$/;
/** Of a moment in which nothing may be cut off. */
const halfDonePattern = /^next-|\.part$/;

/**
 * What installs have left that were cut off, and environments that runs saw long ago, by their paths. The one before the
 * current is kept as `keepsPrevious` says: what began with it may still import from it.
 */
export function listLeftovers(
  place: PackagePlace,
  keepsPrevious: (current: CurrentEnvironment) => boolean,
): string[] {
  const environments = packageLanguages.flatMap((language) => {
    // Whatever there is may be all that is left of what was installed.
    if (findDamaged(place, language) !== null) return [];
    const current = readCurrent(place, language);
    const kept = new Set(
      current === null ? [] : [current.id, ...(keepsPrevious(current) ? [current.previous] : [])],
    );
    const isLeft = (name: string): boolean => {
      const [, id] = environmentPattern.exec(name) ?? [];
      return halfDonePattern.test(name) || (id !== undefined && !kept.has(id));
    };
    return listBelow(place, language, isLeft);
  });
  return [...environments, ...listBelow(place, cacheFolder, (name) => scratchPattern.test(name))];
}

function listBelow({ packages }: PackagePlace, folder: string, isLeft: (name: string) => boolean): string[] {
  return readdirSync(join(packages, folder))
    .filter(isLeft)
    .map((name) => join(packages, folder, name));
}

/** Nothing may be installed meanwhile. */
export async function tidy(...looking: Parameters<typeof listLeftovers>): Promise<number> {
  const left = listLeftovers(...looking);
  for (const path of left) await removeTree(path);
  return left.length;
}

/** What began with the environment before may use it for so long. */
const keepPreviousMs = 3_600_000;

export const mayStillUsePrevious =
  (now: number) =>
  ({ madeAt }: CurrentEnvironment): boolean =>
    now - madeAt < keepPreviousMs;

/** Of all users, by the folder of their workspaces: the environments that are damaged, in words. */
export function listDamagedPackages(workspaces: string): string[] {
  return listPackageFolder(workspaces).flatMap((name) => {
    const packages = join(workspaces, name, 'packages');
    const damaged = packageLanguages.filter((language) => isDamaged({ packages }, language));
    return damaged.map(
      (language) => `the ${language} packages in ${packages} are damaged: install them again`,
    );
  });
}

function listPackageFolder(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (getErrno(error) === 'ENOENT') return [];
    throw error;
  }
}

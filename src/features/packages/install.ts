/**
 * Carries out one change of a user's packages, from the plan to the moment in which runs see it. Nobody else changes them
 * meanwhile: not in this server (`packages.ts`), and not in another (`installs`).
 */
import { join } from 'node:path';
import type { Clock } from '../../platform/clock.ts';
import type { ExclusiveJobs } from '../../core/jobs/exclusive.ts';
import type { Database } from '../../ports/database/database.ts';
import { runInSlices } from '../../platform/concurrency/yield.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import { openBelow } from '../../platform/paths/paths.ts';
import { cacheFolder, packageLanguages } from '../../ports/sandbox/environments.ts';
import { formatBytes } from '../../platform/text/text.ts';
import { readTrustedTime } from '../../ports/database/trusted-clock.ts';
import { buildEnvironment, type BuildOptions, type BuildRequest } from './build.ts';
import type { InspectedEnvironment } from './check.ts';
import type { KnownPackages, Plan } from './plan.ts';
import {
  clearCache,
  discard,
  mayStillUsePrevious,
  makeEnvironment,
  noteCacheSize,
  publish,
  readCurrent,
  tidy,
  withdraw,
  type CurrentEnvironment,
  type InstalledPackage,
  type PackagePlace,
} from './store.ts';

type BuildFields = 'caller' | 'place' | 'language' | 'pins' | 'registry' | 'signal' | 'progress';

export interface InstallOptions extends BuildOptions, Pick<BuildRequest, BuildFields> {
  readonly database: Database;
  /** Of one user at a time, on whichever server. */
  readonly installs: ExclusiveJobs;
  readonly clock: Clock;
  /** What to do, seen what is there. */
  plan(known: KnownPackages): Plan;
  /** What environments are made in: one of another is not used again. */
  readonly madeIn: string;
  readonly userBytes: number;
}

/** What became of the packages of a language. */
export interface PackageChange {
  readonly language: BuildRequest['language'];
  readonly isChanged: boolean;
  /** New ones, and those in another version than before. */
  readonly added: readonly InstalledPackage[];
  /** As they were before. */
  readonly removed: readonly InstalledPackage[];
  readonly fromSystem: readonly InstalledPackage[];
  /** What runs see now; null if nothing is installed. */
  readonly current: CurrentEnvironment | null;
  readonly tookMs: number;
}

export async function carryOut(options: InstallOptions): Promise<PackageChange> {
  const began = performance.now();
  options.signal.throwIfAborted();
  const first = await inspect(options);
  if (isDone(options, first)) return toChange(options, first, first.current, began);
  await using lease = await options.installs.wait(options.caller.user, options.signal);
  // Another server may have installed something meanwhile.
  const found = await inspect(options);
  if (isDone(options, found)) return toChange(options, found, found.current, began);
  const signal = AbortSignal.any([options.signal, lease.lost]);
  try {
    const current = await replaceEnvironment({ ...options, signal }, found, began);
    return toChange(options, found, current, began);
  } catch (error) {
    lease.lost.throwIfAborted();
    throw error;
  }
}

interface FoundState {
  readonly current: CurrentEnvironment | null;
  readonly plan: Plan;
}

async function inspect({ sandbox, place, language, plan }: InstallOptions): Promise<FoundState> {
  const current = readCurrent(place, language);
  return { current, plan: plan({ language, current, system: await sandbox.pythonDistributions() }) };
}

/** Nothing is to be changed, and what there is can be used. */
const isDone = ({ madeIn }: InstallOptions, { current, plan }: FoundState): boolean =>
  plan.isUnchanged && (current === null || current.madeIn === madeIn);

/** Makes the environment that is planned, and lets runs see it. */
async function replaceEnvironment(
  options: InstallOptions,
  { current, plan }: FoundState,
  began: number,
): Promise<CurrentEnvironment | null> {
  const { place, language, clock, registry, madeIn } = options;
  await tidy(place, mayStillUsePrevious(await readTrustedTime(options.database, clock())));
  if (plan.specs.length === 0) {
    withdraw(place, language);
    return null;
  }
  const id = makeEnvironment(place, language);
  try {
    const inspected = await build(options, plan, current, id);
    await checkPackageSpace(options, inspected);
    await publish(place, language, id, {
      ...inspected,
      requested: plan.specs.map(({ text }) => text),
      madeIn,
      registry: registry.title,
      madeAt: clock(),
      tookMs: Math.round(performance.now() - began),
      previous: current?.id ?? null,
    });
  } catch (error) {
    await discard(place, language, id);
    throw error;
  } finally {
    noteCacheSize(place, await measureCache(place));
  }
  // Now the one before is another.
  await tidy(place, () => true);
  return readCurrent(place, language);
}

async function build(
  options: InstallOptions,
  { specs, keep }: Plan,
  current: CurrentEnvironment | null,
  environment: string,
): Promise<InspectedEnvironment> {
  const version = /Python (\d+\.\d+)/.exec(options.madeIn)?.[1] ?? '';
  // Versions of another interpreter need not exist for this one.
  const isUsable = current?.madeIn === options.madeIn;
  return buildEnvironment(options, { ...options, environment, specs, keep: isUsable ? keep : [], version });
}

const maxCacheEntries = 1_000_000;

async function measureCache({ packages }: PackagePlace): Promise<number> {
  const root = openBelow(join(packages, cacheFolder));
  return (await runInSlices(root.space(maxCacheEntries), {})).bytes;
}

/** Downloads that are kept go first. */
async function checkPackageSpace(
  { place, language, userBytes }: InstallOptions,
  { bytes }: InspectedEnvironment,
): Promise<void> {
  const others = packageLanguages
    .filter((other) => other !== language)
    .reduce((sum, other) => sum + (readCurrent(place, other)?.bytes ?? 0), 0);
  const wanted = bytes + others;
  if (wanted > userBytes)
    throw new WorkcrateError(
      'quota_exceeded',
      `The packages would take ${formatBytes(wanted)}, and yours may take ${formatBytes(userBytes)} together. What was installed before is as it was. Remove some (remove_packages), or ask for smaller ones.`,
      { details: { wanted_bytes: wanted, limit_bytes: userBytes } },
    );
  if (wanted + (await measureCache(place)) > userBytes) await clearCache(place);
}

function toChange(
  { language }: InstallOptions,
  { current: before, plan }: FoundState,
  current: CurrentEnvironment | null,
  began: number,
): PackageChange {
  const [old, now] = [before?.installed ?? [], current?.installed ?? []];
  return {
    language,
    isChanged: before?.id !== current?.id,
    added: subtract(now, old),
    removed: subtract(old, now),
    fromSystem: plan.fromSystem,
    current,
    tookMs: Math.round(performance.now() - began),
  };
}

const toKey = ({ name, version }: InstalledPackage): string => `${name} ${version}`;

function subtract(
  from: readonly InstalledPackage[],
  others: readonly InstalledPackage[],
): InstalledPackage[] {
  const known = new Set(others.map(toKey));
  return from.filter((each) => !known.has(toKey(each)));
}

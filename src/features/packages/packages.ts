/**
 * Packages that users install for their own runs: Python by pip, Node by npm. This door judges what is asked for, lets one
 * install of a user happen after the other, and answers what is there. Each install makes a new environment of the whole
 * list, which runs see from one moment to the next; one that fails changes nothing.
 * It speaks to no registry: the programs in the sandbox do (`build.ts`), through the network that is handed in.
 */
import type { Clock } from '../../platform/clock.ts';
import { createKeyedMutex } from '../../platform/concurrency/mutex.ts';
import { createExclusiveJobs, type ExclusiveJobs } from '../../core/jobs/exclusive.ts';
import { deleteJobs } from '../../core/jobs/rows.ts';
import type { Database, Queries } from '../../ports/database/database.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import type { Caller } from '../../core/identity.ts';
import type { Log } from '../../platform/observability/log.ts';
import { packageLanguages, type PackageLanguage } from '../../ports/sandbox/environments.ts';
import type { Sandbox } from '../../ports/sandbox/sandbox.ts';
import { listWorkspaces, type Workspaces } from '../../core/workspaces/workspaces.ts';
import { readTrustedTime } from '../../ports/database/trusted-clock.ts';
import { createAllowedPackages } from './allowed.ts';
import type { OpenInstallNetwork } from './build.ts';
import { missingToolError } from './failures.ts';
import { carryOut, type InstallOptions, type PackageChange } from './install.ts';
import { createInstalls, type JobTerms, type RunningJob } from './jobs.ts';
import { parseSpecs, type PackageSpec } from './names.ts';
import { planInstall, planRemove, type KnownPackages } from './plan.ts';
import { createRegistries, type RegistryOptions } from './registries.ts';
import {
  hasPackageFolders,
  mayStillUsePrevious,
  isDamaged,
  listLeftovers,
  needsRepair,
  readCurrent,
  repairCurrent,
  tidy,
  type CurrentEnvironment,
  type PackagePlace,
} from './store.ts';

export type { OpenInstallNetwork } from './build.ts';
export { createAllowedPackages } from './allowed.ts';
export { findNpmFolder } from './configured.ts';
export { createRegistries } from './registries.ts';
export { listDamagedPackages } from './store.ts';
export type { PackageLanguage } from '../../ports/sandbox/environments.ts';

export interface PackagesOptions extends RegistryOptions {
  readonly database: Database;
  readonly places: Pick<Workspaces, 'of' | 'find'>;
  /** What code runs in, or why there is nothing. */
  readonly sandbox: Sandbox | string;
  /** Null where there is no way out for an install. */
  readonly openNetwork: OpenInstallNetwork | null;
  /** Which packages may be asked for; empty for all. */
  readonly allow: readonly string[];
  readonly allowsSource: boolean;
  readonly allowsUrls: boolean;
  readonly timeoutMs: number;
  /** The most that the packages of a user may take. */
  readonly userBytes: number;
  /** Tells this server from others on the same database. */
  readonly server: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** What a user has installed for a language. */
export interface ListedLanguage {
  readonly language: PackageLanguage;
  readonly current: CurrentEnvironment | null;
  /** It was made for another interpreter than runs have now, and has to be made again. */
  readonly isStale: boolean;
  /** What was installed last was damaged, as by a loss of power; runs see what was there before, if anything. */
  readonly wasDamaged: boolean;
  /** The host that packages come from. */
  readonly registry: string;
}

export interface AskedPackages {
  readonly language: PackageLanguage;
  readonly names: readonly string[];
}

/** Ends the installs of a user who is being removed, in the transaction of the caller: their servers see it. */
export const endUserInstalls = (tx: Queries, owner: string): Promise<number> =>
  deleteJobs(tx, 'install', { owner });

export type Packages = ReturnType<typeof createPackages>;

export function createPackages(options: PackagesOptions) {
  const { database, places, clock, log } = options;
  const allowed = createAllowedPackages(options.allow);
  const registries = createRegistries(options);
  const jobs = createInstalls(clock, log);
  const lookFailed = (error: unknown): void => log.warn('packages.not_looked_after', { error });
  const installs = createExclusiveJobs({ ...options, kind: 'install', createLostError, lookFailed });
  const byUser = createKeyedMutex();

  const getPlace = async ({ user }: Caller): Promise<PackagePlace> => (await places.of(user)) as PackagePlace;

  const judge = async ({ language, names }: AskedPackages): Promise<PackageSpec[]> => {
    const mayUse = options.allowsUrls ? registries.allowUrl(await registries.find(language)) : () => false;
    return parseSpecs(language, names, mayUse).map((spec) => allowed.judge(language, spec));
  };

  const know = async (caller: Caller, language: PackageLanguage): Promise<KnownPackages> => ({
    language,
    current: readCurrent(await getPlace(caller), language),
    system: typeof options.sandbox === 'string' ? new Map() : await options.sandbox.pythonDistributions(),
  });

  const change = async (
    caller: Caller,
    { language, names }: AskedPackages,
    terms: JobTerms,
    plan: InstallOptions['plan'],
  ): Promise<PackageChange | RunningJob> => {
    const tools = await checkInstallTools(options, language);
    const job = { owner: caller.user, language, names };
    return jobs.run(job, terms, (signal, progress) =>
      byUser(caller.user, async () => {
        const place = await getPlace(caller);
        const registry = await registries.find(language);
        const pins = allowed.listPins(language);
        return carryOut({
          ...options,
          ...tools,
          installs,
          caller,
          place,
          language,
          registry,
          pins,
          plan,
          signal,
          progress,
        });
      }),
    );
  };

  /** Not where something is being installed: that tidies up itself. */
  const sweep = async (): Promise<number> => {
    let removed = 0;
    for (const { owner } of await listWorkspaces(database))
      if (jobs.list(owner).length === 0)
        removed += await byUser(owner, () => tidyUp(options, installs, owner));
    return removed;
  };

  return {
    /** What may be asked for, in words; null where that is everything. */
    allowed: allowed.described,

    /** A job where it takes longer than the caller waits: it goes on, and the same call again waits for it. */
    async install(
      caller: Caller,
      asked: AskedPackages,
      terms: JobTerms,
    ): Promise<PackageChange | RunningJob> {
      const specs = await judge(asked);
      return change(caller, asked, terms, (known) => planInstall(known, specs));
    },

    async remove(caller: Caller, asked: AskedPackages, terms: JobTerms): Promise<PackageChange | RunningJob> {
      const { language, names } = asked;
      // Before anything is waited for.
      planRemove(await know(caller, language), names);
      return change(caller, asked, terms, (known) => planRemove(known, names));
    },

    async list(caller: Caller): Promise<{ languages: ListedLanguage[]; jobs: RunningJob[] }> {
      const place = await getPlace(caller);
      const languages = packageLanguages.map(async (language) => {
        const current = readCurrent(place, language);
        const wasDamaged = isDamaged(place, language);
        const { title: registry } = await registries.find(language);
        const isStale = current !== null && (await describeMaker(options, language)) !== current.madeIn;
        return { language, current, isStale, wasDamaged, registry };
      });
      return { languages: await Promise.all(languages), jobs: jobs.list(caller.user) };
    },

    /** The host that packages of a language come from. Asks pip or npm of this machine, once. */
    findRegistry: async (language: PackageLanguage): Promise<string> =>
      (await registries.find(language)).title,

    /** Call at the start. */
    async recover(): Promise<number> {
      await deleteJobs(database, 'install', { server: options.server });
      return sweep();
    },

    sweep,

    /** How many installs are under way, with or without the call that asked for them. */
    countUnderWay: jobs.count,

    /** Ends what is being installed. */
    async [Symbol.asyncDispose](): Promise<void> {
      await jobs[Symbol.asyncDispose]();
      await installs[Symbol.asyncDispose]();
    },
  };
}

/** What installs have left in the folders of a user, where none is under way. */
async function tidyUp(
  { database, places, clock, log }: PackagesOptions,
  installs: ExclusiveJobs,
  owner: string,
): Promise<number> {
  const place = (await places.find(owner)) as PackagePlace | null;
  if (place === null || !hasPackageFolders(place)) return 0;
  const isWhole = packageLanguages.every((language) => !needsRepair(place, language));
  const now = await readTrustedTime(database, clock());
  if (isWhole && listLeftovers(place, mayStillUsePrevious(now)).length === 0) return 0;
  await using lease = await installs.take(owner);
  if (lease === null) return 0;
  repairPackages(place, owner, log);
  return await tidy(place, mayStillUsePrevious(now));
}

const createLostError = (): WorkcrateError =>
  new WorkcrateError(
    'cancelled',
    'The install was ended: you were removed from this server, or it did not answer for a minute. What was installed before is as it was.',
  );

function repairPackages(place: PackagePlace, user: string, log: Log): void {
  for (const language of packageLanguages) {
    const repaired = repairCurrent(place, language);
    if (repaired !== null) log.error('packages.damaged', { user, language, ...repaired });
  }
}

/** What an install needs, or an error that says what is missing. */
async function checkInstallTools(options: PackagesOptions, language: PackageLanguage) {
  const { sandbox, openNetwork, npm } = options;
  if (typeof sandbox === 'string')
    throw new WorkcrateError(
      'sandbox_unavailable',
      `No code runs here, so nothing can be installed. ${sandbox}`,
    );
  if (!sandbox.languages.includes(language))
    throw new WorkcrateError('sandbox_unavailable', `Code in ${language} does not run here.`);
  if (openNetwork === null)
    throw new WorkcrateError(
      'unsupported',
      'This server has no way to a registry, so nothing can be installed.',
    );
  if (language === 'node' && npm === null)
    throw new WorkcrateError(
      'sandbox_unavailable',
      'npm was not found on this machine, so nothing can be installed for Node. The operator can install it, or name its npm-cli.js with --npm.',
    );
  if (language === 'python' && !(await sandbox.pythonDistributions()).has('pip'))
    throw missingToolError('pip', 'python3-pip');
  return { sandbox, openNetwork, madeIn: await describeMaker(options, language) };
}

/** Such as `bubblewrap, Python 3.11`: packages that were made for another are of no use. */
async function describeMaker({ sandbox }: PackagesOptions, language: PackageLanguage): Promise<string> {
  if (typeof sandbox === 'string') return '';
  const runtime = (await sandbox.runtime(language)) ?? '';
  const version = /^(?:Python \d+\.\d+|Node\.js v\d+)/.exec(runtime)?.[0] ?? runtime;
  return `${sandbox.kind}, ${version}`;
}

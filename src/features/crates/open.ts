/**
 * Opens the sources of crates and the index as the settings say, and looks at the sources regularly. It refuses sources
 * that overlap. It neither reads nor searches a crate: `crates.ts` does.
 */
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Files } from '../../core/files/files.ts';
import type { Links } from '../../core/links/links.ts';
import { isWorkcrateError, WorkcrateError } from '../../platform/errors.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { Metrics } from '../../platform/observability/metrics.ts';
import type { Source } from '../../ports/storage/source.ts';
import {
  createCrates,
  openIndexedSources,
  type Crates,
  type IndexingSettings,
  type ConfiguredSource,
} from './crates.ts';
import {
  findEarlierPackFolder,
  formatSourceAddress,
  getOwnPackFolder,
  getPackTarget,
  getPackTargetKind,
  identifyFolder,
} from './pack-target.ts';
import {
  getCrateIndexFile,
  getCrateRowsLocation,
  toSourceOptions,
  type CrateConfig,
} from './source-options.ts';
import { readLastingName, type SourceOptions } from './sources/address.ts';
import { findPackLeftovers, partFileMaxAgeMs, removePackLeftovers } from './sources/folder-put.ts';

export type CrateSources = Awaited<ReturnType<typeof openCrateSources>>;

/** The sources that the settings name, and the one that packed crates go to, which is always one of them. */
export async function openCrateSources(config: CrateConfig) {
  await using opened = new AsyncDisposableStack();
  const named = listNamedSources(config);
  const all: Source[] = [];
  for (const { source } of await openIndexedSources(named))
    all.push(opened.adopt(source, (it) => it.close()));
  refuseOverlaps(all);
  const held = opened.move();
  return {
    named,
    all,
    packs: all.at(-1)!,
    find: (url: string): Source | null =>
      all.find((source) => source.url === url) ?? all.find((source) => source.knownAs === url) ?? null,
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

/** Refuses settings of crates with which nothing could be opened. It opens nothing. */
export function demandCrateSettings(config: CrateConfig): void {
  const { crateSources, semantics, embeddingsUrl, embeddingsModel } = config;
  if (semantics === 'endpoint' && (embeddingsUrl === null || embeddingsModel === null))
    throw new WorkcrateError(
      'config_invalid',
      '--semantics endpoint needs --embeddings-url and --embeddings-model.',
    );
  const addresses = [...crateSources.map((url) => toSourceOptions(config, url)), getPackTarget(config)];
  refuseOverlaps(
    addresses.map((address) => {
      const named =
        address.kind === 'folder' ? pathToFileURL(address.directory).href : formatSourceAddress(address);
      return { kind: address.kind, url: named.replace(/\/*$/, '/') };
    }),
  );
}

function listNamedSources(config: CrateConfig): ConfiguredSource[] {
  const own = getOwnPackFolder(config);
  const packsGoTo = getPackTarget(config);
  if (packsGoTo.kind === 'folder' && packsGoTo.directory === own)
    mkdirSync(own, { recursive: true, mode: 0o700 });
  const target = withLastingName(packsGoTo, config.crateSources);
  const packsOf = config.auth.length === 0 ? 'one' : 'several';
  return [
    ...config.crateSources.map((url) => ({ options: toSourceOptions(config, url), packsOf: null })),
    ...listEarlierPacks(config, target).map((options) => ({ options, packsOf }) as const),
    { options: target, packsOf },
  ];
}

/** The folder of this server, if crates were packed into it before they went elsewhere. */
function listEarlierPacks(config: CrateConfig, target: SourceOptions): SourceOptions[] {
  const directory = findEarlierPackFolder(config);
  if (directory === null) return [];
  const earlier = withLastingName({ kind: 'folder', directory }, config.crateSources);
  // Where the folder was copied with its name, its crates have the same ids there.
  const nameOf = (options: SourceOptions) => (options.kind === 'folder' ? options.knownAs : undefined);
  const wasCopied = nameOf(earlier) !== undefined && nameOf(earlier) === nameOf(target);
  return wasCopied ? [] : [earlier];
}

/** Users' ids and links of packed crates go by the folder's first path, so that they hold where a backup is restored. */
function withLastingName(options: SourceOptions, others: readonly string[]): SourceOptions {
  if (options.kind !== 'folder') return options;
  const knownAs = readLastingName(options.directory);
  // Where there is another source of that name, ids would be the same for two crates.
  const isTaken = others.some((url) => url.replace(/\/*$/, '/') === knownAs);
  return knownAs === null || isTaken ? options : { ...options, knownAs };
}

/**
 * Removes what interrupted packings left behind, and returns how many there were: all of it in our own folder, which is
 * locked; in a folder that other servers may write to, only what is a day old.
 */
export const removeCutOffPackings = (config: CrateConfig): number =>
  sumOfPackFolders(config, ({ directory, isOurs }) =>
    removePackLeftovers(directory, isOurs ? 0 : partFileMaxAgeMs),
  );

/** How many unfinished crates packings that were cut off have left. */
export const countCutOffPackings = (config: CrateConfig): number =>
  sumOfPackFolders(config, ({ directory }) => findPackLeftovers(directory, 0).length);

interface PackFolder {
  readonly directory: string;
  readonly isOurs: boolean;
}

/** Our own folder is among them although crates may go elsewhere by now. */
function sumOfPackFolders(config: CrateConfig, count: (folder: PackFolder) => number): number {
  const [own, target] = [getOwnPackFolder(config), getPackTarget(config)];
  const folders = [{ directory: own, isOurs: config.packTo === null || target.kind !== 'folder' }];
  if (target.kind === 'folder' && target.directory !== own)
    folders.push({ directory: target.directory, isOurs: false });
  return folders
    .filter(({ directory }) => existsSync(directory))
    .reduce((sum, folder) => sum + count(folder), 0);
}

/**
 * If one source were inside another, a crate would be found twice, and a crate of one user could be seen by all.
 * Folders are compared by device and inode and not by name: a link or a second mount is the same folder.
 */
function refuseOverlaps(sources: readonly Pick<Source, 'kind' | 'url'>[]): void {
  const held = sources.map((source) => ({ url: source.url, ...identifySource(source) }));
  for (const [at, one] of held.entries()) {
    const isWithin = (other: (typeof held)[number]): boolean =>
      one.url.startsWith(other.url) || (other.own !== null && one.above.includes(other.own));
    const other = held.find((candidate, index) => index !== at && isWithin(candidate));
    if (other === undefined) continue;
    throw new WorkcrateError(
      'config_invalid',
      `The crate source ${one.url} is inside ${other.url}. Name one of the two. If packed crates go to one of them, name another place in --pack-to.`,
    );
  }
}

const identifySource = ({ kind, url }: Pick<Source, 'kind' | 'url'>) =>
  kind === 'folder' ? identifyFolder(fileURLToPath(url)) : { own: null, above: [] };

export interface OpenCratesOptions {
  readonly config: CrateConfig;
  readonly log: Log;
  readonly sources: CrateSources;
  readonly files: Files;
  readonly links: Links;
}

/** Opens index and search. */
export function openCrates({ config, sources, files, links, log }: OpenCratesOptions): Crates {
  const mostBytes = config.crateDownloadLimitMb * 1024 ** 2;
  const settings = toIndexingSettings(config, sources);
  return createCrates({ settings, sources: sources.all, files, links, mostBytes, log });
}

function toIndexingSettings(config: CrateConfig, { named, all }: CrateSources): IndexingSettings {
  const { embeddingsUrl: url, embeddingsModel: model, embeddingsKey: key, semantics } = config;
  return {
    location: getCrateRowsLocation(config),
    file: getCrateIndexFile(config),
    semantics,
    endpoint: url === null || model === null ? null : { url, model, key },
    sources: named,
    sourceUrls: all.map(({ url }) => url),
    maxMetadata: config.maxMetadata,
  };
}

/** The lease on the index of a server that was killed ends after a minute. */
const staleIndexLeaseMs = 65_000;

/** How long a sync gets to end by itself at shutdown. The worker is ended after that. */
const maxSyncEndMs = 2000;

/** Syncs the sources at once and then regularly, unless there is nothing but an empty folder of packed crates. */
export function watchCrates(
  crates: Pick<Crates, 'sync'>,
  { config, log }: { config: CrateConfig; log: Log },
): AsyncDisposable {
  const stop = new AbortController();
  let running: Promise<unknown> | null = null;
  let again: NodeJS.Timeout | undefined;
  if (config.crateInterval === 0 || !hasCratesToWatch(config))
    return { [Symbol.asyncDispose]: async () => {} };
  const look = (): Promise<unknown> =>
    (running ??= crates
      .sync({ signal: stop.signal, report: () => {}, forget: true })
      .catch((error: unknown) => logSyncFailure(error, stop.signal, log))
      .finally(() => (running = null)));
  const timer = setInterval(look, config.crateInterval * 1000).unref();
  const lookFirst = async (): Promise<void> => {
    if ((await look()) !== 'busy') return;
    log.info('crates.sync_waits', { seconds: staleIndexLeaseMs / 1000 });
    again = setTimeout(look, staleIndexLeaseMs).unref();
  };
  void lookFirst();
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      stop.abort();
      await waitForSyncEnd(running);
      clearTimeout(again);
    },
  };
}

async function waitForSyncEnd(running: Promise<unknown> | null): Promise<void> {
  const ended = new AbortController();
  const passed = pause(maxSyncEndMs, null, { signal: ended.signal }).catch(() => {});
  await Promise.race([running, passed]);
  ended.abort();
}

/** A worker takes memory: none is started for an empty folder. */
function hasCratesToWatch(config: CrateConfig): boolean {
  const own = getOwnPackFolder(config);
  if (config.crateSources.length > 0 || config.packTo !== null || getPackTargetKind(config) !== 'folder')
    return true;
  return readdirSync(own).some((name) => !name.startsWith('.'));
}

/** No line if another server syncs, or if this one is stopping. */
function logSyncFailure(error: unknown, { aborted }: AbortSignal, log: Log): 'busy' | null {
  if (aborted || isWorkcrateError(error, 'stopping')) return null;
  if (isWorkcrateError(error, 'index_busy')) return 'busy';
  log.error('crates.sync_failed', { error });
  return null;
}

/** The same crates, with metrics of each sync. */
export function meterCrates(crates: Crates, { cratesSynced }: Pick<Metrics, 'cratesSynced'>): Crates {
  return {
    ...crates,
    async sync(watching) {
      const result = await crates.sync(watching);
      if (!result.joined) cratesSynced(result.reports);
      return result;
    },
  };
}

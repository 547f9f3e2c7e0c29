import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Config } from './config.ts';
import {
  createCrates,
  openWatched,
  type Crates,
  type IndexingSettings,
  type NamedSource,
} from './crates/crates.ts';
import { createPacking, packQuota } from './crates/pack/pack.ts';
import { isWorkcrateError, WorkcrateError } from './errors.ts';
import type { Executions } from './executions/executions.ts';
import type { Files } from './files/files.ts';
import type { Ground } from './ground.ts';
import type { Links } from './links/links.ts';
import type { Log } from './log.ts';
import type { Places } from './places/places.ts';
import type { Source } from './storage/source.ts';
import { crateIndexLocation, sourceOptions } from './stores.ts';

export type CrateSources = Awaited<ReturnType<typeof openCrateSources>>;

/** The sources that the settings name, and the one that packed crates go to, which is always one of them. */
export async function openCrateSources(config: Config) {
  await using opened = new AsyncDisposableStack();
  const named = namedSources(config);
  const all: Source[] = [];
  for (const { source } of await openWatched(named)) all.push(opened.adopt(source, (it) => it.close()));
  refuseOverlaps(all);
  const held = opened.move();
  return {
    named,
    all,
    packs: all.at(-1)!,
    find: (url: string): Source | null => all.find((source) => source.url === url) ?? null,
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

function namedSources(config: Config): NamedSource[] {
  const usual = join(config.data, 'crates');
  if (config.packTo === null) mkdirSync(usual, { recursive: true, mode: 0o700 });
  const packs = config.packTo ?? pathToFileURL(usual).href;
  const others = config.crateSources.map((url) => ({
    options: sourceOptions(config, url),
    packsOf: null,
  }));
  return [
    ...others,
    { options: sourceOptions(config, packs), packsOf: config.auth.length === 0 ? 'one' : 'several' },
  ];
}

/** A crate would be two, and one of a single user's everybody's, if one source stood within another. */
function refuseOverlaps(sources: readonly Source[]): void {
  for (const [at, { url }] of sources.entries()) {
    const other = sources.find((one, index) => index !== at && url.startsWith(one.url));
    if (other === undefined) continue;
    throw new WorkcrateError(
      'config_invalid',
      `The crate source ${url} stands within ${other.url}. Name one of the two, and another folder in --pack-to if it is that one.`,
    );
  }
}

export interface CratingOptions extends Ground {
  readonly sources: CrateSources;
  readonly files: Files;
  readonly links: Links;
  readonly executions: Pick<Executions, 'get'>;
  readonly places: Pick<Places, 'find'>;
}

/** The part of the composition root that is about crates: sources → index → search, packing. */
export function openCrates(options: CratingOptions): Crates {
  const { config, sources, files, links, executions, places, clock, log } = options;
  const maxBytes = config.maxFileSize;
  // The index is asked once something is packed, when it is there.
  const demandRoom = packQuota({ quotas: packQuotas(config), held: (owner) => crates.packedBytes(owner) });
  const target = sources.packs;
  const packing = createPacking({ files, places, executions, target, maxBytes, demandRoom, clock });
  const mostBytes = config.crateDownloadLimitMb * 1024 ** 2;
  const settings = indexingSettings(config, sources);
  const crates = createCrates({ settings, sources: sources.all, files, links, packing, mostBytes, log });
  return crates;
}

/** A user may pack as much as they may keep in files. */
function packQuotas(config: Config) {
  const { quotaUserBytes: userBytes, quotaUserFiles: userFiles } = config;
  const { quotaTotalBytes: totalBytes, quotaTotalFiles: totalFiles } = config;
  return { userBytes, userFiles, totalBytes, totalFiles };
}

function indexingSettings(config: Config, { named }: CrateSources): IndexingSettings {
  const { embeddingsUrl: url, embeddingsModel: model, embeddingsKey: key, semantics } = config;
  if (semantics === 'endpoint' && (url === null || model === null))
    throw new WorkcrateError(
      'config_invalid',
      '--semantics endpoint needs --embeddings-url and --embeddings-model.',
    );
  return {
    location: crateIndexLocation(config),
    semantics,
    endpoint: url === null || model === null ? null : { url, model, key },
    sources: named,
    maxMetadata: config.maxMetadata,
  };
}

/** Looks at the sources at once and every so often. Without any but the folder of packed crates there is nothing to see. */
export function watchCrates(crates: Crates, { config, log }: { config: Config; log: Log }): AsyncDisposable {
  const stop = new AbortController();
  let running: Promise<unknown> | null = null;
  if (config.crateInterval === 0 || !hasSomethingToSee(config))
    return { [Symbol.asyncDispose]: async () => {} };
  const look = (): void => {
    running ??= crates
      .sync({ signal: stop.signal, report: () => {}, forget: true })
      .catch((error: unknown) => tell(error, stop.signal, log))
      .finally(() => (running = null));
  };
  const timer = setInterval(look, config.crateInterval * 1000).unref();
  look();
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      stop.abort();
      await running;
    },
  };
}

/** A thread takes memory: it is not started for a folder with nothing in it. */
const hasSomethingToSee = ({ data, crateSources, packTo }: Config): boolean =>
  crateSources.length > 0 || packTo !== null || readdirSync(join(data, 'crates')).length > 0;

/** Another server is at it, or this one is stopping: neither is worth a line. */
function tell(error: unknown, { aborted }: AbortSignal, log: Log): void {
  if (aborted || isWorkcrateError(error, 'index_busy') || isWorkcrateError(error, 'stopping')) return;
  log.error('crates.sync_failed', { error });
}

/**
 * Decides where packed crates go, and knows the folder of this server that has those packed before they went elsewhere.
 * It opens no source: `open.ts` does.
 */
import { existsSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { toStorageOptions } from '../../core/store-options.ts';
import { getErrno } from '../../platform/errors.ts';
import type { Log } from '../../platform/observability/log.ts';
import { getCrateRowsLocation, toSourceOptions, type CrateConfig } from './source-options.ts';
import { parseSourceAddress, type SourceAddress, type SourceOptions } from './sources/address.ts';

/** Beside `objects/` and `staging/` of the stored files, which alone are swept. */
const storePrefix = 'crates/';

/** The folder for packed crates in the data folder, which only this server sees. */
export const getOwnPackFolder = ({ data }: CrateConfig): string => join(data, 'crates');

/** The place that `--pack-to` names; else the store that all servers share; else the folder of this server. */
export function getPackTarget(config: CrateConfig): SourceOptions {
  if (config.packTo !== null) return toSourceOptions(config, config.packTo);
  const store = toStorageOptions(config);
  return store.kind === 's3' || store.kind === 'azure'
    ? { ...store, prefix: store.prefix + storePrefix }
    : { kind: 'folder', directory: getOwnPackFolder(config) };
}

/** The same without a look at the settings of the store, which may be incomplete. */
export function getPackTargetKind({ packTo, storage }: CrateConfig): SourceAddress['kind'] {
  if (packTo !== null) return parseSourceAddress(packTo).kind;
  return storage === 's3' || storage === 'azure' ? storage : 'folder';
}

/** Whether crates are found, or packed ones kept, on other machines. */
export const hasRemoteSources = (config: CrateConfig): boolean =>
  [getPackTargetKind(config), ...config.crateSources.map((url) => parseSourceAddress(url).kind)].some(
    (kind) => kind !== 'folder',
  );

/** The address of a source, as messages show it. */
export function formatSourceAddress(address: SourceAddress): string {
  switch (address.kind) {
    case 'folder':
      return address.directory;
    case 's3':
      return `s3://${address.bucket}/${address.prefix}`;
    case 'azure':
      return `azure://${address.container}/${address.prefix}`;
  }
}

/**
 * The folder of this server, if it has crates although new ones go elsewhere. Null where it is a source of its own, or
 * overlaps with one.
 */
export function findEarlierPackFolder(config: CrateConfig): string | null {
  const own = getOwnPackFolder(config);
  if (!hasFiles(own)) return null;
  const { own: id, above } = identifyFolder(own);
  const named = [...config.crateSources.map(parseSourceAddress), getPackTarget(config)];
  const isTaken = named.some((address) => {
    if (address.kind !== 'folder') return false;
    const other = identifyFolder(address.directory);
    return other.own !== null && (above.includes(other.own) || other.above.includes(id!));
  });
  return isTaken ? null : own;
}

/** Folders alone are what a move of crates to another place leaves. */
const hasFiles = (folder: string): boolean =>
  existsSync(folder) &&
  readdirSync(folder, { recursive: true, withFileTypes: true }).some(
    (entry) => !entry.isDirectory() && !entry.name.startsWith('.'),
  );

/** Device and inode of a folder, and of itself and every folder above it. Null if it is not there. */
export function identifyFolder(path: string): { own: string | null; above: string[] } {
  const folder = resolveFolder(path);
  const above: string[] = [];
  if (folder === null) return { own: null, above };
  for (let at = folder; ; at = dirname(at)) {
    const { dev, ino } = statSync(at);
    above.push(`${dev}:${ino}`);
    if (dirname(at) === at) return { own: above[0]!, above };
  }
}

/** Null if the folder is not there: it then overlaps with nothing. */
function resolveFolder(path: string): string | null {
  try {
    return realpathSync(path);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EACCES', 'ELOOP'].includes(getErrno(error) ?? '')) return null;
    throw error;
  }
}

interface LocalPacks {
  readonly folder: string;
  readonly what: string;
  /** What to do about it. */
  readonly remedy: string;
}

/** Packed crates that other servers do not find although there may be some: those to come, and those of before. */
export function findLocalPacks(config: CrateConfig): LocalPacks[] {
  const target = getPackTarget(config);
  const found: LocalPacks[] = [];
  if (config.packTo === null && target.kind === 'folder' && isIndexShared(config))
    found.push({
      folder: target.directory,
      what: `packed crates stay on this server, in ${target.directory}: others on this database do not find them`,
      remedy:
        'If there are other servers, give all of them the same --pack-to, such as s3://BUCKET/crates (docs/guide/deploy.md)',
    });
  const earlier = findEarlierPackFolder(config);
  if (earlier !== null)
    found.push({
      folder: earlier,
      what: `crates that were packed earlier are in ${earlier}, where only this server finds them`,
      remedy: `Stop the server, and move what is in this folder to ${formatSourceAddress(target)} (docs/guide/crates.md, "Where packed crates are")`,
    });
  return found;
}

/** On PostgreSQL, where other servers may use the same index. */
const isIndexShared = (config: CrateConfig): boolean => getCrateRowsLocation(config).startsWith('postgres');

export function warnOfLocalPacks(config: CrateConfig, log: Log): void {
  for (const { folder, what, remedy } of findLocalPacks(config))
    log.warn('crates.packed_on_this_server', { folder, because: what, remedy });
}

/**
 * What keeps a server from starting and can be known before anything is opened: settings that do not fit together, files
 * that cannot be read as what they are, a disk without room. `serve` and `stdio` ask first of all, and `doctor` tells
 * the same. Whether databases, stores and sandboxes work is found by opening them.
 */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { readEnvironmentVariable } from '../platform/config/config.ts';
import type { ServerConfig as Config } from './settings.ts';
import { leavesReserve, measureFreeSpace } from '../platform/data-folder/disk-reserve.ts';
import { checkBackend } from '../ports/database/open.ts';
import { isWorkcrateError, WorkcrateError } from '../platform/errors.ts';
import { checkOffload } from '../core/links/offload.ts';
import { isLoopbackHost } from '../platform/net/addresses.ts';
import { checkTracing } from '../platform/observability/tracing.ts';
import { createAllowedPackages } from '../features/packages/packages.ts';
import { findPublicFolder } from '../platform/paths/paths.ts';
import { programName } from '../platform/program.ts';
import { checkKindAllowed } from '../ports/sandbox/open.ts';
import { formatBytes } from '../platform/text/text.ts';
import { checkTokenSettings } from '../core/users/users.ts';
import { demandNetworkSettings } from './network.ts';
import { features } from './features.ts';
import { getOutputBounds, readToolGroups } from './offer.ts';
import { listChecks } from './open-features.ts';
import { getDatabaseLocation, toStorageOptions } from '../core/store-options.ts';
import { chooseGroups } from './tools.ts';

/** Each throws if its part of the settings keeps a server from starting. None opens or changes anything. */
const demands = {
  address: refuseOpenBind,
  folders: demandPublicFolders,
  database: (config: Config) => checkBackend(getDatabaseLocation(config)),
  storage: toStorageOptions,
  downloads: demandDownloads,
  users: checkTokenSettings,
  tools: (config: Config) => chooseGroups(readToolGroups(config)),
  output: getOutputBounds,
  network: demandNetworkSettings,
  packages: ({ packages, packagesAllow }: Config) => packages && createAllowedPackages(packagesAllow),
  gateway: demandGatewayFile,
  sandbox: ({ sandbox, allowSandbox }: Config) => checkKindAllowed(sandbox, allowSandbox),
  tracing: ({ tracing }: Config) => checkTracing(tracing),
} satisfies Record<string, (config: Config) => unknown>;

/** A part of the core, or the name of a feature. */
export type RefusedPart = string;

const parts: readonly (readonly [part: string, demand: (config: Config) => unknown])[] = [
  ...Object.entries(demands),
  ...listChecks(features),
  ['disk', demandRoom],
];

/** Everything that keeps a server with these settings from starting, by the part that it is about. Parts may say the same. */
export async function findRefusals(config: Config): Promise<ReadonlyMap<RefusedPart, WorkcrateError>> {
  const refusals = new Map<string, WorkcrateError>();
  for (const [part, demand] of parts) {
    try {
      await demand(config);
    } catch (error) {
      if (!isWorkcrateError(error)) throw error;
      refusals.set(part, error);
    }
  }
  return refusals;
}

/** Rejects with the first of them. */
export async function demandStartable(config: Config): Promise<void> {
  const [first] = (await findRefusals(config)).values();
  if (first !== undefined) throw first;
}

function refuseOpenBind({ host, auth }: Config): void {
  if (isLoopbackHost(host) || auth.length > 0) return;
  throw new WorkcrateError(
    'bind_refused',
    `Workcrate does not listen on ${host}: without --auth, anyone who can reach it could use it. Require keys ` +
      `with --auth keys (${programName} user add NAME makes one). Or listen on 127.0.0.1 and put a proxy with ` +
      'authentication in front; --public-url then makes the links point at that.',
  );
}

/** They are looked at again whenever they are opened. */
function demandPublicFolders({ toolsPath, skillsPath }: Config): void {
  findPublicFolder(toolsPath, '--tools-path');
  findPublicFolder(skillsPath, '--skills-path');
}

function demandDownloads(config: Config): void {
  const { downloads, storage } = config;
  if (downloads === 'stream') return;
  const options = toStorageOptions(config);
  const presigns = options.kind === 's3' || (options.kind === 'azure' && 'key' in options.credential);
  checkOffload(downloads, { presigns, isDisk: storage === 'disk' });
}

/** Nothing of the gateway is loaded where there is none. */
async function demandGatewayFile({ gateway }: Config): Promise<void> {
  if (gateway === null) return;
  const { readServerFile } = await import('../features/gateway/gateway.ts');
  readServerFile(gateway, { readVariable: readEnvironmentVariable });
}

/**
 * A new data folder on a disk without room. Where a server has run before, it starts on a full disk too, so that
 * people can delete what they stored.
 */
async function demandRoom({ data }: Config): Promise<void> {
  if (existsSync(join(data, 'lock.db'))) return;
  let there = data;
  while (!existsSync(there)) there = dirname(there);
  const space = await measureFreeSpace(there);
  if (leavesReserve(space)) return;
  const { freeBytes, reserveBytes } = space;
  throw new WorkcrateError(
    'storage_full',
    `Cannot use ${data} as the data folder: the disk is full. It has ${formatBytes(freeBytes)} free, and the server keeps ` +
      `${formatBytes(reserveBytes)} of it for deleting. Make room, or choose another with --data.`,
  );
}

/**
 * What a user has and may have, for the page Usage: counted by the rooms, limited by the settings. Of what the scopes of
 * a key do not reach, nothing is told.
 */
import type { Clock } from '../platform/clock.ts';
import type { ServerConfig as Config } from './settings.ts';
import type { Crates } from '../features/crates/crates.ts';
import type { Database } from '../ports/database/database.ts';
import { readUsageOf } from './instrumentation/counts.ts';
import type { ReadUsage, UsageReport } from '../surfaces/pages/pages.ts';
import { formatBytes, formatDuration } from '../platform/text/text.ts';
import type { MeasureFolders } from './user-folders.ts';

export interface UserUsageOptions {
  readonly config: Config;
  readonly database: Database;
  readonly crates: Pick<Crates, 'isIndexed' | 'packedBytes'>;
  readonly measureFolders: MeasureFolders;
  readonly clock: Clock;
}

const daySeconds = 86_400;
const dayMs = daySeconds * 1000;

export function createUsageReader(options: UserUsageOptions): ReadUsage {
  const { config, database, crates, measureFolders, clock } = options;
  const limits = listLimits(config);
  return async ({ caller: { user }, scopes }) => {
    const may = (scope: string): boolean => scopes === null || scopes.includes(scope);
    const { stored, runs } = await readUsageOf(database, user, clock() - dayMs);
    const { quotaUserBytes: mostBytes, quotaUserFiles: mostCount } = config;
    return {
      files: may('files') ? { bytes: stored.bytes, mostBytes, count: stored.files, mostCount } : null,
      folders: may('code') ? { ...(await measureFolders(user)), most: config.runDisk } : null,
      crates: may('crates') ? await countPackedCrates(crates, user) : null,
      runs: may('code') ? runs : null,
      mostSessions: config.sessionsUser,
      limits,
    };
  };
}

/** What a user has packed, as far as the index knows. A server without crates starts nothing to count none. */
export async function countPackedCrates(
  crates: Pick<Crates, 'isIndexed' | 'packedBytes'>,
  user: string,
): Promise<{ bytes: number; count: number }> {
  if (!crates.isIndexed()) return { bytes: 0, count: 0 };
  const { bytes, crates: count } = await crates.packedBytes(user);
  return { bytes, count };
}

function listLimits(config: Config): UsageReport['limits'] {
  const time = (seconds: number): string =>
    seconds >= 2 * daySeconds && seconds % daySeconds === 0
      ? `${seconds / daySeconds} days`
      : formatDuration(seconds * 1000);
  return [
    [
      'A run',
      [
        ['Time, if nothing is said', time(config.runTimeout)],
        ['Time, at most', time(config.runMaxTimeout)],
        ['Memory', formatBytes(config.runMemory)],
        ['Cores', String(config.runCpus)],
        ['Processes and threads', String(config.runProcesses)],
        ['Largest file', formatBytes(config.runFileSize)],
        ['/tmp', formatBytes(config.runTmp)],
        ['Network', describeNetwork(config.sandboxNetwork)],
      ],
    ],
    [
      'Files and links',
      [
        ['Largest upload', formatBytes(config.maxFileSize)],
        ['Kept, if nothing is said', time(config.fileTtl)],
        ['Kept, at most', time(config.maxTtl)],
        ['Files in a bundle', config.maxBundleFiles.toLocaleString('en-US')],
      ],
    ],
    [
      'Sessions and packages',
      [
        ['Sessions open at once', String(config.sessionsUser)],
        ['A session ends unused after', time(config.sessionIdle)],
        ['Packages can be installed', config.packages ? 'yes' : 'no'],
        ['Packages, at most', formatBytes(config.packagesUserBytes)],
      ],
    ],
  ];
}

function describeNetwork(network: string): string {
  if (network === 'none') return 'none';
  return network === 'host' ? 'that of the server' : network.replace('allow:', '').replaceAll(',', ', ');
}

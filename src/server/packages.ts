/**
 * Opens the packages of users as the settings say. How something is installed is in `packages/`.
 */
import type { Database } from '../ports/database/database.ts';
import {
  createPackages,
  findNpmFolder,
  type Packages,
  type PackagesOptions,
} from '../features/packages/packages.ts';
import type { AppContext } from './context.ts';
import type { RunNetworks } from './network.ts';

export interface OpenPackagesOptions extends Pick<AppContext, 'config' | 'clock' | 'log'> {
  readonly database: Database;
  readonly server: string;
  readonly places: PackagesOptions['places'];
  readonly sandbox: PackagesOptions['sandbox'];
  readonly networks: RunNetworks;
}

/** Null where nobody may install anything. */
export async function openPackages(options: OpenPackagesOptions): Promise<Packages | null> {
  const { config, networks } = options;
  if (!config.packages) return null;
  const packages = createPackages({
    ...options,
    openNetwork: networks.openForInstall,
    pipIndexUrl: config.pipIndexUrl,
    npmRegistry: config.npmRegistry,
    hosts: config.packagesHosts,
    python: config.python,
    npm: findNpmFolder(config.npm),
    allow: config.packagesAllow,
    allowsSource: config.packagesSource,
    allowsUrls: config.packagesUrls,
    timeoutMs: config.packagesTimeout * 1000,
    userBytes: config.packagesUserBytes,
  });
  await packages.recover();
  return packages;
}

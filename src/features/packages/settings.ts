/** The settings of packages that users install. */
import { existsSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { bytes, list, optionalText, optionalUrl, seconds, trueOrFalse } from '../../platform/config/kinds.ts';
import { defineSetting, gigabyte, type SettingsEnvironment } from '../../platform/config/setting.ts';

/** A link to npm-cli.js in most installations. Of others `doctor` says that they are of no use. */
function findDefaultNpm({ PATH = '' }: SettingsEnvironment): string | null {
  const folders = [...PATH.split(':').filter(isAbsolute), '/usr/bin', '/usr/local/bin'];
  return folders.map((folder) => join(folder, 'npm')).find((path) => existsSync(path)) ?? null;
}

export const packageSettings = {
  packages: defineSetting(
    trueOrFalse,
    true,
    'let users install Python and Node packages for their runs (install_packages)',
    { after: 'pythonPreload' },
  ),
  packagesAllow: defineSetting(
    list,
    [],
    'packages that may be asked for: names, patterns and versions, such as pandas,node:@scope/*,numpy==1.26.4; default: all',
  ),
  pipIndexUrl: defineSetting(
    optionalUrl,
    null,
    'index that Python packages come from; default: that of pip on this machine',
    { secret: true },
  ),
  npmRegistry: defineSetting(
    optionalUrl,
    null,
    'registry that Node packages come from; default: that of npm on this machine',
    { secret: true },
  ),
  packagesHosts: defineSetting(
    list,
    [],
    'further hosts that an install may reach, such as one from which a registry sends its files: HOST or HOST:PORT',
  ),
  packagesSource: defineSetting(
    trueOrFalse,
    false,
    'let pip build packages of which there is only the source, which runs their code in the sandbox of the install',
  ),
  packagesUrls: defineSetting(
    trueOrFalse,
    false,
    'let packages be named by URLs, of hosts that an install may reach: name@https://…',
  ),
  packagesTimeout: defineSetting(seconds(1, 86_400), 600, 'seconds that an install may take'),
  packagesUserBytes: defineSetting(
    bytes,
    4 * gigabyte,
    'most disk space for the packages of a user, a part of --run-disk',
  ),
  npm: defineSetting(optionalText, findDefaultNpm, 'the npm that installs Node packages; the first on PATH'),
};

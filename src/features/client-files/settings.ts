/** The settings of files on the side of the client. */
import { projectList } from './projects.ts';
import { bytes, integer, list, optionalText } from '../../platform/config/kinds.ts';
import { defineSetting, megabyte } from '../../platform/config/setting.ts';

/** The folders of a client's project that may be read by default. */
export const defaultClientPaths = ['docs', 'src', 'tests', '.guide', '.todo'];

export const clientFileSettings = {
  clientRoot: defineSetting(
    optionalText,
    null,
    "stdio: the project's folder, if the client names none; default: where it was started",
    { after: 'keepResults' },
  ),
  clientPaths: defineSetting(
    list,
    defaultClientPaths,
    "folders of the client's project whose files may be read",
    {
      aliases: ['FILESYSTEM_ALLOWED_PATHS'],
      fileAlias: 'filesystem.allowed_paths',
    },
  ),
  projects: defineSetting(
    projectList,
    [],
    'folders that may be read in each project named here, instead of --client-paths and --client-list-paths',
  ),
  clientListPaths: defineSetting(
    list,
    [],
    "folders of the client's project that may be listed; default: --client-paths",
  ),
  clientCache: defineSetting(
    bytes,
    64 * megabyte,
    "most bytes of the client's files that are kept in memory",
    { after: 'clientTimeout' },
  ),
  clientCacheFiles: defineSetting(
    integer(1, 1e6),
    10_000,
    "most of the client's files that are kept in memory",
  ),
};

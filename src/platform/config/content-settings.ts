/**
 * The settings of what users work with: crates, documents and files of the client. `settings.ts` puts them into the list
 * of all settings; where they are used is `server/crates.ts`, `server/documents.ts` and `server/client-files.ts`.
 */
import {
  bytes,
  integer,
  list,
  choiceFrom,
  optionalBaseUrl,
  optionalInteger,
  optionalText,
  optionalUrl,
  seconds,
} from './kinds.ts';
import { projectList } from './projects.ts';
import { day, defineSetting, gigabyte, megabyte } from './setting.ts';

export const crateSettings = {
  crateSources: defineSetting(
    list,
    [],
    'where crates are found: file:///…, s3://bucket/prefix or azure://container/prefix, separated by commas',
  ),
  packTo: defineSetting(
    optionalText,
    null,
    'where packed crates go: a URL as in --crate-sources, and itself a source; default: crates/ beside the files in the store of --storage s3 or azure, else in the data folder',
  ),
  crateInterval: defineSetting(
    seconds(0, day),
    300,
    'seconds between checks of the crate sources, the first at the start; 0: only when asked',
  ),
  crateDownloadLimitMb: defineSetting(integer(0, 1e6), 50, 'largest crate given as base64, in MB of 1024²', {
    aliases: ['ROC_MCP_DOWNLOAD_SIZE_LIMIT_MB'],
  }),
  maxMetadata: defineSetting(bytes, 128 * megabyte, 'largest ro-crate-metadata.json that is read'),
  semantics: defineSetting(
    choiceFrom('lsa', 'hash', 'endpoint', 'off'),
    'lsa',
    'semantic search of crates: lsa, fitted to the crates; hash; endpoint, an embeddings API; off',
  ),
  embeddingsUrl: defineSetting(optionalUrl, null, 'endpoint: URL of an OpenAI-compatible embeddings API', {
    secret: true,
  }),
  embeddingsModel: defineSetting(optionalText, null, 'endpoint: name of the model'),
  embeddingsKey: defineSetting(optionalText, null, 'endpoint: key that the API asks for', { secret: true }),
} as const;

export const documentSettings = {
  documentTimeout: defineSetting(
    seconds(1, 3600),
    60,
    'seconds that building a document may take, in all formats',
  ),
  documentMemory: defineSetting(bytes, gigabyte, 'most memory of a process that builds documents'),
  documentSize: defineSetting(bytes, 4 * megabyte, 'longest text of a document, and of a bibliography'),
  maxDocuments: defineSetting(
    integer(1, 64),
    2,
    'documents built at once; further ones wait, up to ten times as many',
  ),
  documentIdle: defineSetting(
    seconds(0, day),
    60,
    'seconds after which an idle document process ends; 0: at once',
  ),
  documentEpoch: defineSetting(
    optionalInteger(0, 253_402_300_799),
    null,
    'date of all documents, in seconds since 1970: equal input then gives equal bytes',
    { aliases: ['SOURCE_DATE_EPOCH'] },
  ),
  documentFonts: defineSetting(list, [], 'folders with further fonts for PDF, such as those for Chinese'),
  pandoc: defineSetting(optionalText, null, 'a Pandoc on PATH, or its path, in place of the packaged one'),
  cslFolder: defineSetting(
    optionalText,
    null,
    'folder of citation styles (*.csl) that can be chosen by name',
  ),
  zoteroLibrary: defineSetting(
    optionalText,
    null,
    'Zotero library to cite from: users/ID, groups/ID or users/0',
  ),
  zoteroUrl: defineSetting(
    optionalBaseUrl,
    null,
    'base of the Zotero API; default: the web API, or http://127.0.0.1:23119/api for users/0',
  ),
  zoteroKey: defineSetting(optionalText, null, 'key of the Zotero web API', { secret: true }),
} as const;

/** The folders of a client's project that may be read by default. */
export const defaultClientPaths = ['docs', 'src', 'tests', '.guide', '.todo'];

export const clientSettings = {
  clientRoot: defineSetting(
    optionalText,
    null,
    "stdio: the project's folder, if the client names none; default: where it was started",
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
  clientTimeout: defineSetting(seconds(1, 3600), 120, 'seconds that a client has to answer a question'),
  clientCache: defineSetting(
    bytes,
    64 * megabyte,
    "most bytes of the client's files that are kept in memory",
  ),
  clientCacheFiles: defineSetting(
    integer(1, 1e6),
    10_000,
    "most of the client's files that are kept in memory",
  ),
} as const;

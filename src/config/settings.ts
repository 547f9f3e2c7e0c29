import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import {
  bytes,
  days,
  flag,
  integer,
  list,
  networks,
  oneOf,
  optionalBaseUrl,
  optionalHost,
  optionalInteger,
  optionalText,
  optionalUrl,
  range,
  seconds,
  someOf,
  text,
  type SettingKind,
} from './kinds.ts';
import { projectList } from './projects.ts';
import { programName } from '../program.ts';

/** One setting. Its key `fileTtl` is `--file-ttl`, `WORKCRATE_FILE_TTL` and `file_ttl` in the config file. */
export interface Setting<T> {
  readonly kind: SettingKind<T>;
  readonly fallback: (environment: SettingsEnvironment) => T;
  readonly help: string;
  /** Further environment names that are accepted, after the WORKCRATE_ one. */
  readonly aliases?: readonly string[];
  /** A further key in the config file, with a dot where it may be a key below a key. */
  readonly fileAlias?: string;
  /** Never printed. */
  readonly secret?: boolean;
}

export type SettingsEnvironment = Readonly<Record<string, string | undefined>>;

function setting<T>(
  kind: SettingKind<T>,
  fallback: T | ((environment: SettingsEnvironment) => T),
  help: string,
  more: { aliases?: readonly string[]; fileAlias?: string; secret?: boolean } = {},
): Setting<T> {
  const give = typeof fallback === 'function' ? (fallback as (e: SettingsEnvironment) => T) : () => fallback;
  return { kind, fallback: give, help, ...more };
}

const day = 86_400;
const megabyteBytes = 1024 ** 2;
const gigabyte = 1024 ** 3;

/** What may be read of a client's project unless told otherwise. */
export const usualClientPaths = ['docs', 'src', 'tests', '.guide', '.todo'];

/** Where data stands unless told: the place that the XDG convention names. */
function defaultData(environment: SettingsEnvironment): string {
  const base = environment.XDG_DATA_HOME || join(environment.HOME || homedir(), '.local', 'share');
  return join(base, 'workcrate');
}

function defaultPython({ PATH = '' }: SettingsEnvironment): string | null {
  const folders = ['/usr/bin', ...PATH.split(':').filter(isAbsolute)];
  return folders.map((folder) => join(folder, 'python3')).find((path) => existsSync(path)) ?? null;
}

/** Every setting there is, in the order in which `serve --help` shows them. */
export const settings = {
  host: setting(text, '127.0.0.1', 'address to listen on; any but loopback needs --auth'),
  port: setting(integer(0, 65_535), 9180, 'port to listen on; 0 takes a free one'),
  linkHost: setting(
    optionalHost,
    null,
    'host name in links; default: the address to listen on, or localhost if that is all addresses',
    { aliases: ['MCP_HOST'] },
  ),
  linkPort: setting(
    optionalInteger(1, 65_535),
    null,
    'port in links, such as the published port of a container; default: --port',
    { aliases: ['MCP_PORT'] },
  ),
  publicUrl: setting(
    optionalBaseUrl,
    null,
    'base URL of links, if there is a proxy in front; overrides --link-host and --link-port',
    { aliases: ['MCP_PUBLIC_URL'] },
  ),
  trustedProxy: setting(
    networks,
    [],
    'proxies in front, whose X-Forwarded-For gives the address of the client: for the log and the rate limit',
  ),
  data: setting(text, defaultData, 'folder for the database and, unless set otherwise, the files'),
  filesDir: setting(optionalText, null, 'folder for the bytes of files; default: files in the data folder', {
    aliases: ['MCP_FILES_DIR'],
  }),
  placesDir: setting(
    optionalText,
    null,
    'folder for /workspace and /artifacts of users; several servers must share it; default: places in the data folder',
  ),
  database: setting(optionalText, null, 'postgres://… URL; default: SQLite in the data folder', {
    secret: true,
  }),
  storage: setting(
    oneOf('disk', 'memory', 's3', 'azure'),
    'disk',
    'where bytes are kept: disk, s3, azure, or memory, which loses them at the end',
  ),
  s3Bucket: setting(optionalText, null, 's3: the bucket'),
  s3Prefix: setting(optionalText, null, 's3: prefix of all object keys'),
  s3Endpoint: setting(optionalBaseUrl, null, 's3: URL of the store; default: that of AWS for the region', {
    aliases: ['AWS_ENDPOINT_URL_S3', 'AWS_ENDPOINT_URL'],
  }),
  s3Region: setting(text, 'us-east-1', 's3: the region', { aliases: ['AWS_REGION', 'AWS_DEFAULT_REGION'] }),
  s3PathStyle: setting(
    oneOf('auto', 'on', 'off'),
    'auto',
    's3: bucket in the path instead of the host name; auto: if --s3-endpoint is set',
  ),
  s3AccessKeyId: setting(optionalText, null, 's3: id of the access key', {
    aliases: ['AWS_ACCESS_KEY_ID'],
    secret: true,
  }),
  s3SecretAccessKey: setting(optionalText, null, 's3: the secret access key', {
    aliases: ['AWS_SECRET_ACCESS_KEY'],
    secret: true,
  }),
  s3SessionToken: setting(optionalText, null, 's3: token of temporary credentials', {
    aliases: ['AWS_SESSION_TOKEN'],
    secret: true,
  }),
  azureContainer: setting(optionalText, null, 'azure: the container'),
  azurePrefix: setting(optionalText, null, 'azure: prefix of all blob names'),
  azureAccount: setting(optionalText, null, 'azure: the storage account', {
    aliases: ['AZURE_STORAGE_ACCOUNT'],
  }),
  azureKey: setting(optionalText, null, 'azure: key of the account', {
    aliases: ['AZURE_STORAGE_KEY'],
    secret: true,
  }),
  azureSas: setting(optionalText, null, 'azure: shared access signature, in place of the key', {
    aliases: ['AZURE_STORAGE_SAS_TOKEN'],
    secret: true,
  }),
  azureConnectionString: setting(optionalText, null, 'azure: account, key and endpoint in one', {
    aliases: ['AZURE_STORAGE_CONNECTION_STRING'],
    secret: true,
  }),
  azureEndpoint: setting(
    optionalBaseUrl,
    null,
    'azure: URL of the blob service; default: that of the account',
    {
      aliases: ['AZURE_STORAGE_SERVICE_ENDPOINT'],
    },
  ),
  partSize: setting(
    bytes,
    8 * megabyteBytes,
    's3, azure: size of the parts of a large object; a transfer holds up to four in memory',
  ),
  downloads: setting(
    oneOf('stream', 'redirect', 'accel'),
    'stream',
    'how large files are sent: stream, redirect to a presigned URL (s3, azure), accel by nginx (disk)',
  ),
  redirectFrom: setting(bytes, megabyteBytes, 'redirect, accel: smallest file that is not streamed'),
  accelPrefix: setting(text, '/workcrate-objects/', 'accel: the internal location of nginx'),
  auth: setting(
    someOf('keys', 'oauth'),
    [],
    `who may use the server: users with keys (${programName} user), with oauth tokens, or both; default: everyone on this machine`,
  ),
  oauthIssuer: setting(optionalBaseUrl, null, 'oauth: issuer whose tokens are accepted'),
  oauthAudience: setting(optionalText, null, 'oauth: audience of the tokens; default: the URL of /mcp'),
  oauthUserClaim: setting(text, 'sub', 'oauth: claim that says who the user is'),
  oauthScopes: setting(list, [], 'oauth: scopes that every token has in addition to its own'),
  tools: setting(
    list,
    ['all'],
    'groups of tools to offer: all, or their names (files, code, artifacts, crates, documents, client)',
  ),
  fileTtl: setting(seconds(1, 3650 * day), 3600, 'seconds that a file and its links live', {
    aliases: ['MCP_FILE_TTL'],
  }),
  maxTtl: setting(seconds(1, 3650 * day), 30 * day, 'longest lifetime in seconds that a caller may ask for'),
  uploadTtl: setting(seconds(1, 365 * day), 3600, 'seconds within which an upload link must be used'),
  sweepInterval: setting(seconds(1, day), 300, 'seconds between sweeps of what has expired'),
  maxFileSize: setting(bytes, 16 * gigabyte, 'largest file accepted'),
  maxBundleFiles: setting(integer(1, 100_000), 10_000, 'most files in one bundle'),
  quotaUserBytes: setting(bytes, 64 * gigabyte, 'most bytes kept for one user'),
  quotaUserFiles: setting(integer(1, 1e9), 100_000, 'most files kept for one user'),
  quotaTotalBytes: setting(bytes, 256 * gigabyte, 'most bytes kept in all'),
  quotaTotalFiles: setting(integer(1, 1e9), 1_000_000, 'most files kept in all'),
  shareRoots: setting(
    list,
    [],
    'stdio: folders whose files may be shared by path; default: where it was started',
  ),
  stdioHttp: setting(
    flag,
    false,
    'stdio: serve all routes over HTTP, not only links; every user of this machine can then run code',
  ),
  sandbox: setting(
    oneOf('auto', 'bubblewrap', 'docker', 'subprocess', 'off'),
    'auto',
    'what code runs in: bubblewrap, docker, subprocess or off; auto is bubblewrap where it works, else off',
  ),
  allowSandbox: setting(list, [], 'backends without walls that may be used: subprocess'),
  sandboxUids: setting(
    range,
    { from: 1_900_000_000, to: 1_900_065_535 },
    'as root: uids for runs, one for each user',
  ),
  sandboxNetwork: setting(
    oneOf('none', 'host'),
    'none',
    'network of runs: none, or host, which is the network of this machine',
  ),
  python: setting(
    optionalText,
    defaultPython,
    "the python3 that runs use; the system's before others on PATH",
  ),
  toolsPath: setting(text, './tools', 'folder that is /tools in runs, read-only', {
    aliases: ['MCP_TOOLS_PATH'],
  }),
  skillsPath: setting(text, './skills', 'folder that is /skills in runs, read-only', {
    aliases: ['MCP_SKILLS_PATH'],
  }),
  executorImage: setting(text, 'mcp-code-executor:latest', 'docker: the image that code runs in', {
    aliases: ['MCP_EXECUTOR_IMAGE'],
  }),
  dockerSocket: setting(text, '/var/run/docker.sock', 'docker: the socket of the engine'),
  dockerRuntime: setting(optionalText, null, 'docker: another runtime, such as runsc'),
  runTimeout: setting(seconds(1, 3600), 30, 'seconds that a run may take unless it asks for another time'),
  runMaxTimeout: setting(seconds(1, 3600), 300, 'the longest time in seconds that a run may ask for'),
  runMemory: setting(bytes, gigabyte, 'most memory of a run'),
  runProcesses: setting(integer(4, 32_768), 128, 'most processes and threads of a run'),
  runCpus: setting(integer(1, 1024), 2, 'cores that a run may use'),
  runFileSize: setting(bytes, 2 * gigabyte, 'largest file that a run can write'),
  runDisk: setting(bytes, 10 * gigabyte, 'most disk space for /workspace and /artifacts of a user'),
  runTmp: setting(bytes, gigabyte / 4, 'size of /tmp in a run'),
  runOutput: setting(bytes, gigabyte / 4, 'most output of a run that is kept to be fetched by link'),
  outputChars: setting(
    integer(100, 1_000_000),
    10_000,
    'characters of each output of a run that are shown and recorded; more is cut',
  ),
  outputHead: setting(integer(1, 1_000_000), 4000, 'characters shown of the start of output that is cut'),
  outputTail: setting(integer(1, 1_000_000), 4000, 'characters shown of the end of output that is cut'),
  maxRuns: setting(integer(1, 1000), 8, 'runs at once; further ones wait, up to ten times as many'),
  maxRunsUser: setting(
    optionalInteger(1, 1000),
    null,
    'runs of one user at once; default: one less than --max-runs with --auth, else as many',
  ),
  warmPython: setting(integer(0, 100), 4, 'Python interpreters kept waiting for each user'),
  warmNode: setting(integer(0, 100), 1, 'Node interpreters kept waiting for each user'),
  warmBash: setting(integer(0, 100), 4, 'shells kept waiting for each user'),
  artifactSizeLimitMb: setting(
    integer(0, 1e6),
    50,
    'largest artifact given as base64 or shown, in MB of 1024²',
    {
      aliases: ['MCP_ARTIFACT_SIZE_LIMIT_MB'],
    },
  ),
  keepSuccesses: setting(days(1, 3650), 30, 'days that the record of a run that succeeded is kept'),
  keepFailures: setting(days(1, 3650), 90, 'days that the record of a run that failed is kept'),
  recordsUserBytes: setting(
    bytes,
    512 * megabyteBytes,
    'most bytes of records of runs kept for one user, code and stdin included; the oldest go first',
  ),
  crateSources: setting(
    list,
    [],
    'where crates are found: file:///…, s3://bucket/prefix or azure://container/prefix, separated by commas',
  ),
  packTo: setting(
    optionalText,
    null,
    'where packed crates go: a URL as in --crate-sources, and itself a source; default: crates in the data folder',
  ),
  crateInterval: setting(
    seconds(0, day),
    300,
    'seconds between checks of the crate sources, the first at the start; 0: only when asked',
  ),
  crateDownloadLimitMb: setting(integer(0, 1e6), 50, 'largest crate given as base64, in MB of 1024²', {
    aliases: ['ROC_MCP_DOWNLOAD_SIZE_LIMIT_MB'],
  }),
  maxMetadata: setting(bytes, 128 * megabyteBytes, 'largest ro-crate-metadata.json that is read'),
  semantics: setting(
    oneOf('lsa', 'hash', 'endpoint', 'off'),
    'lsa',
    'semantic search of crates: lsa, fitted to the crates; hash; endpoint, an embeddings API; off',
  ),
  embeddingsUrl: setting(optionalUrl, null, 'endpoint: URL of an OpenAI-compatible embeddings API', {
    secret: true,
  }),
  embeddingsModel: setting(optionalText, null, 'endpoint: name of the model'),
  embeddingsKey: setting(optionalText, null, 'endpoint: key that the API asks for', { secret: true }),
  documentTimeout: setting(seconds(1, 3600), 60, 'seconds that building a document may take, in all formats'),
  documentMemory: setting(bytes, gigabyte, 'most memory of a process that builds documents'),
  documentSize: setting(bytes, 4 * megabyteBytes, 'longest text of a document, and of a bibliography'),
  maxDocuments: setting(
    integer(1, 64),
    2,
    'documents built at once; further ones wait, up to ten times as many',
  ),
  documentIdle: setting(seconds(0, day), 60, 'seconds after which an idle document process ends; 0: at once'),
  documentEpoch: setting(
    optionalInteger(0, 253_402_300_799),
    null,
    'date of all documents, in seconds since 1970: equal input then gives equal bytes',
    { aliases: ['SOURCE_DATE_EPOCH'] },
  ),
  documentFonts: setting(list, [], 'folders with further fonts for PDF, such as those for Chinese'),
  pandoc: setting(optionalText, null, 'a Pandoc on PATH, or its path, in place of the packaged one'),
  cslFolder: setting(optionalText, null, 'folder of citation styles (*.csl) that can be chosen by name'),
  zoteroLibrary: setting(optionalText, null, 'Zotero library to cite from: users/ID, groups/ID or users/0'),
  zoteroUrl: setting(
    optionalBaseUrl,
    null,
    'base of the Zotero API; default: the web API, or http://127.0.0.1:23119/api for users/0',
  ),
  zoteroKey: setting(optionalText, null, 'key of the Zotero web API', { secret: true }),
  clientRoot: setting(
    optionalText,
    null,
    "stdio: the project's folder, if the client does not name it; its files may be read",
  ),
  clientPaths: setting(list, usualClientPaths, "folders of the client's project whose files may be read", {
    aliases: ['FILESYSTEM_ALLOWED_PATHS'],
    fileAlias: 'filesystem.allowed_paths',
  }),
  projects: setting(
    projectList,
    [],
    'folders that may be read in each project named here, instead of --client-paths and --client-list-paths',
  ),
  clientListPaths: setting(
    list,
    [],
    "folders of the client's project that may be listed; default: --client-paths",
  ),
  clientTimeout: setting(seconds(1, 3600), 120, 'seconds that a client has to answer a question'),
  clientCache: setting(bytes, 64 * megabyteBytes, "most bytes of the client's files that are kept in memory"),
  clientCacheFiles: setting(integer(1, 1e6), 10_000, "most of the client's files that are kept in memory"),
  auditLevel: setting(
    oneOf('trace', 'info', 'warning', 'off'),
    'trace',
    'least severe line of the audit log: trace has every operation, warning only violations',
  ),
  auditDays: setting(days(1, 3650), 90, 'days that the audit log is kept'),
  auditKey: setting(
    optionalText,
    null,
    'key that signs the audit log: without it, nobody can forge the chain of lines',
    {
      secret: true,
    },
  ),
  webhookUrl: setting(
    optionalUrl,
    null,
    'URL that gets a POST for every built document and every completed download',
    { secret: true },
  ),
  webhookSecret: setting(optionalText, null, 'key of the signature on webhook calls', { secret: true }),
  guessLimit: setting(integer(1, 1e6), 60, 'unknown tokens that one address may try in a minute'),
  idleTimeout: setting(seconds(1, 3600), 60, 'seconds after which a transfer without progress is ended'),
  sendfile: setting(oneOf('auto', 'off'), 'auto', 'let the kernel send files where possible: auto or off'),
  stopDelay: setting(
    seconds(0, 600),
    0,
    'seconds that a stopping server keeps serving, so that load balancers see it is not ready',
  ),
  drainTimeout: setting(seconds(0, 3600), 30, 'seconds that transfers and runs get to finish at shutdown'),
  tracing: setting(flag, false, 'make OpenTelemetry spans; needs @opentelemetry/api and an SDK'),
  logLevel: setting(
    oneOf('debug', 'info', 'warn', 'error', 'off'),
    'info',
    'least severe level logged to stderr: debug, info, warn, error or off',
  ),
} as const;

export type SettingName = keyof typeof settings;

export type Config = {
  readonly [Name in SettingName]: (typeof settings)[Name] extends Setting<infer T> ? T : never;
};

const splitCamelCase = (name: string): string[] => name.split(/(?=[A-Z])/).map((word) => word.toLowerCase());

export const flagName = (name: string): string => splitCamelCase(name).join('-');
export const fileKey = (name: string): string => splitCamelCase(name).join('_');
export const environmentName = (name: string): string =>
  `WORKCRATE_${splitCamelCase(name).join('_').toUpperCase()}`;

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
  type Kind,
} from './kinds.ts';
import { projectList } from './projects.ts';
import { program } from '../program.ts';

/** One setting. Its key `fileTtl` is `--file-ttl`, `WORKCRATE_FILE_TTL` and `file_ttl` in the config file. */
export interface Setting<T> {
  readonly kind: Kind<T>;
  readonly fallback: (environment: Environment) => T;
  readonly help: string;
  /** Further environment names that are accepted, after the WORKCRATE_ one. */
  readonly aliases?: readonly string[];
  /** A further key in the config file, with a dot where it may be a key below a key. */
  readonly fileAlias?: string;
  /** Never printed. */
  readonly secret?: boolean;
}

export type Environment = Readonly<Record<string, string | undefined>>;

function setting<T>(
  kind: Kind<T>,
  fallback: T | ((environment: Environment) => T),
  help: string,
  more: { aliases?: readonly string[]; fileAlias?: string; secret?: boolean } = {},
): Setting<T> {
  const give = typeof fallback === 'function' ? (fallback as (e: Environment) => T) : () => fallback;
  return { kind, fallback: give, help, ...more };
}

const day = 86_400;
const megabyte = 1024 ** 2;
const gigabyte = 1024 ** 3;

/** What may be read of a client's project unless told otherwise. */
export const usualClientPaths = ['docs', 'src', 'tests', '.guide', '.todo'];

/** Where data stands unless told: the place that the XDG convention names. */
function defaultData(environment: Environment): string {
  const base = environment.XDG_DATA_HOME || join(environment.HOME || homedir(), '.local', 'share');
  return join(base, 'workcrate');
}

function defaultPython({ PATH = '' }: Environment): string | null {
  const folders = ['/usr/bin', ...PATH.split(':').filter(isAbsolute)];
  return folders.map((folder) => join(folder, 'python3')).find((path) => existsSync(path)) ?? null;
}

/** Every setting there is, in the order in which `serve --help` shows them. */
export const settings = {
  host: setting(text, '127.0.0.1', 'address to listen on; others than loopback need --auth'),
  port: setting(integer(0, 65_535), 9180, 'port to listen on; 0 takes a free one'),
  linkHost: setting(
    optionalHost,
    null,
    'host that links carry; default: the address to listen on, or localhost where that is all of them',
    { aliases: ['MCP_HOST'] },
  ),
  linkPort: setting(
    optionalInteger(1, 65_535),
    null,
    'port that links carry, such as the published one of a container; default: the one listened on',
    { aliases: ['MCP_PORT'] },
  ),
  publicUrl: setting(
    optionalBaseUrl,
    null,
    'base of the links handed out, where a proxy stands in front; wins over --link-host and --link-port',
    { aliases: ['MCP_PUBLIC_URL'] },
  ),
  trustedProxy: setting(
    networks,
    [],
    'proxies in front, whose X-Forwarded-For says where a request comes from: for the log and the limit on guesses',
  ),
  data: setting(text, defaultData, 'folder for the database and, unless set otherwise, the files'),
  filesDir: setting(optionalText, null, 'folder for the bytes of files; default: files in the data folder', {
    aliases: ['MCP_FILES_DIR'],
  }),
  placesDir: setting(
    optionalText,
    null,
    'folder for /workspace and /artifacts of users; several servers need a shared one; default: places in the data folder',
  ),
  database: setting(optionalText, null, 'postgres://… URL; default: SQLite in the data folder', {
    secret: true,
  }),
  storage: setting(
    oneOf('disk', 'memory', 's3', 'azure'),
    'disk',
    'where bytes are kept: disk, s3, azure, or memory, which forgets them at the end',
  ),
  s3Bucket: setting(optionalText, null, 's3: the bucket'),
  s3Prefix: setting(optionalText, null, 's3: what the keys of all objects begin with'),
  s3Endpoint: setting(optionalBaseUrl, null, 's3: URL of the store; default: that of AWS for the region', {
    aliases: ['AWS_ENDPOINT_URL_S3', 'AWS_ENDPOINT_URL'],
  }),
  s3Region: setting(text, 'us-east-1', 's3: the region', { aliases: ['AWS_REGION', 'AWS_DEFAULT_REGION'] }),
  s3PathStyle: setting(
    oneOf('auto', 'on', 'off'),
    'auto',
    's3: bucket in the path and not in the host name; auto: with an endpoint of its own',
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
  azurePrefix: setting(optionalText, null, 'azure: what the names of all blobs begin with'),
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
    8 * megabyte,
    's3, azure: size of the parts of a large object; a transfer holds up to four in memory',
  ),
  downloads: setting(
    oneOf('stream', 'redirect', 'accel'),
    'stream',
    'how large files are sent: stream, redirect to a presigned URL (s3, azure), accel by nginx (disk)',
  ),
  redirectFrom: setting(bytes, megabyte, 'redirect, accel: smallest file that is not streamed'),
  accelPrefix: setting(text, '/workcrate-objects/', 'accel: the internal location of nginx'),
  auth: setting(
    someOf('keys', 'oauth'),
    [],
    `who may use the server: holders of keys (${program} user), of oauth tokens, or both; default: everybody here`,
  ),
  oauthIssuer: setting(optionalBaseUrl, null, 'oauth: issuer whose tokens are taken'),
  oauthAudience: setting(optionalText, null, 'oauth: audience of the tokens; default: the URL of /mcp'),
  oauthUserClaim: setting(text, 'sub', 'oauth: claim that says who the user is'),
  oauthScopes: setting(list, [], 'oauth: scopes that every token has besides its own'),
  tools: setting(
    list,
    ['all'],
    'groups of tools to offer: all, or their names (files, code, artifacts, crates, documents, client)',
  ),
  fileTtl: setting(seconds(1, 3650 * day), 3600, 'seconds that a file and its links live', {
    aliases: ['MCP_FILE_TTL'],
  }),
  maxTtl: setting(seconds(1, 3650 * day), 30 * day, 'the longest life in seconds that a caller may ask for'),
  uploadTtl: setting(seconds(1, 365 * day), 3600, 'seconds within which an upload link must be used'),
  sweepInterval: setting(seconds(1, day), 300, 'seconds between sweeps of what has expired'),
  maxFileSize: setting(bytes, 16 * gigabyte, 'largest file taken in'),
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
    'stdio: serve all routes over HTTP beside the links, so that every user of this machine can run code',
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
    'network of runs: none, or host, which is all of it',
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
  runDisk: setting(bytes, 10 * gigabyte, 'most that /workspace and /artifacts of a user may take'),
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
    512 * megabyte,
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
    'where packed crates go, as a URL like those of the sources, of which it is one; default: crates in the data folder',
  ),
  crateInterval: setting(
    seconds(0, day),
    300,
    'seconds between looks at the sources of crates, the first at the start; 0: only when asked',
  ),
  crateDownloadLimitMb: setting(integer(0, 1e6), 50, 'largest crate given as base64, in MB of 1024²', {
    aliases: ['ROC_MCP_DOWNLOAD_SIZE_LIMIT_MB'],
  }),
  maxMetadata: setting(bytes, 128 * megabyte, 'largest ro-crate-metadata.json that is read'),
  semantics: setting(
    oneOf('lsa', 'hash', 'endpoint', 'off'),
    'lsa',
    'how crates are found by meaning: lsa, fitted to the crates; hash; endpoint, by an embeddings API; off',
  ),
  embeddingsUrl: setting(optionalUrl, null, 'endpoint: URL of an OpenAI-compatible embeddings API', {
    secret: true,
  }),
  embeddingsModel: setting(optionalText, null, 'endpoint: name of the model'),
  embeddingsKey: setting(optionalText, null, 'endpoint: key that the API asks for', { secret: true }),
  documentTimeout: setting(seconds(1, 3600), 60, 'seconds that building a document may take, in all formats'),
  documentMemory: setting(bytes, gigabyte, 'most memory of a process that builds documents'),
  documentSize: setting(bytes, 4 * megabyte, 'longest text of a document, and of a bibliography'),
  maxDocuments: setting(
    integer(1, 64),
    2,
    'documents built at once; further ones wait, up to ten times as many',
  ),
  documentIdle: setting(
    seconds(0, day),
    60,
    'seconds after which idle processes that build documents end; 0: at once',
  ),
  documentEpoch: setting(
    optionalInteger(0, 253_402_300_799),
    null,
    'a moment, in seconds since 1970, that all documents are dated: equal input then gives equal bytes',
    { aliases: ['SOURCE_DATE_EPOCH'] },
  ),
  documentFonts: setting(list, [], 'folders with further fonts for PDF, such as those for Chinese'),
  pandoc: setting(optionalText, null, 'a Pandoc on PATH, or its path, in place of the packaged one'),
  cslFolder: setting(optionalText, null, 'folder of citation styles (*.csl) that can be had by name'),
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
    "stdio: the project's folder, where the client does not tell; its files may be asked for",
  ),
  clientPaths: setting(
    list,
    usualClientPaths,
    "folders of the client's project whose files may be asked for",
    { aliases: ['FILESYSTEM_ALLOWED_PATHS'], fileAlias: 'filesystem.allowed_paths' },
  ),
  projects: setting(
    projectList,
    [],
    'folders that may be asked for in the projects named here, in place of --client-paths and --client-list-paths',
  ),
  clientListPaths: setting(list, [], 'folders of it that may be listed; default: the same'),
  clientTimeout: setting(seconds(1, 3600), 120, 'seconds within which a client answers what it is asked'),
  clientCache: setting(bytes, 64 * megabyte, "most bytes of the client's files that are kept in memory"),
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
    'key of the chain of the audit log: with one, nobody who does not know it can forge the chain',
    {
      secret: true,
    },
  ),
  webhookUrl: setting(
    optionalUrl,
    null,
    'told by POST of every document that was built and every completed download',
    { secret: true },
  ),
  webhookSecret: setting(optionalText, null, 'key of the signature on webhook calls', { secret: true }),
  guessLimit: setting(integer(1, 1e6), 60, 'unknown tokens that one address may try in a minute'),
  idleTimeout: setting(seconds(1, 3600), 60, 'seconds after which a transfer without progress is ended'),
  sendfile: setting(
    oneOf('auto', 'off'),
    'auto',
    'send files by the kernel where that is possible: auto or off',
  ),
  stopDelay: setting(
    seconds(0, 600),
    0,
    'seconds for which a server that is told to stop goes on, so that balancers see it is not ready',
  ),
  drainTimeout: setting(seconds(0, 3600), 30, 'seconds that transfers and runs get to end at a stop'),
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

const words = (name: string): string[] => name.split(/(?=[A-Z])/).map((word) => word.toLowerCase());

export const flagName = (name: string): string => words(name).join('-');
export const fileKey = (name: string): string => words(name).join('_');
export const environmentName = (name: string): string => `WORKCRATE_${words(name).join('_').toUpperCase()}`;

/**
 * The settings of the core, in the order in which `serve --help` shows them. One that is added here, or to
 * `code-settings.ts`, has its flag, its variable and its key in the config file at once. Features have their own in their
 * folders. Flags, variables and the file are read by `config.ts`.
 */
import { homedir } from 'node:os';
import { join } from 'node:path';
import { programName } from '../program.ts';
import { codeSettings } from './code-settings.ts';
import {
  bytes,
  days,
  trueOrFalse,
  integer,
  list,
  networks,
  choiceFrom,
  optionalBaseUrl,
  optionalHost,
  optionalInteger,
  optionalText,
  optionalUrl,
  seconds,
  choicesFrom,
  requiredText,
} from './kinds.ts';
import {
  day,
  defineSetting,
  gigabyte,
  megabyte,
  type SettingsEnvironment,
  type ValuesOf,
} from './setting.ts';

/** The data folder by default: where the XDG convention has it. */
function getDefaultDataFolder(environment: SettingsEnvironment): string {
  const base = environment.XDG_DATA_HOME || join(environment.HOME || homedir(), '.local', 'share');
  return join(base, 'workcrate');
}

/** All settings. `config.ts` makes the `Config` from them. */
export const settings = {
  host: defineSetting(requiredText, '127.0.0.1', 'address to listen on; any but loopback needs --auth'),
  port: defineSetting(integer(0, 65_535), 9180, 'port to listen on; 0 takes a free one'),
  linkHost: defineSetting(
    optionalHost,
    null,
    'host name in links; default: the address to listen on, or localhost if that is all addresses',
    { aliases: ['MCP_HOST'] },
  ),
  linkPort: defineSetting(
    optionalInteger(1, 65_535),
    null,
    'port in links, such as the published port of a container; default: --port',
    { aliases: ['MCP_PORT'] },
  ),
  publicUrl: defineSetting(
    optionalBaseUrl,
    null,
    'base URL of links, if there is a proxy in front; overrides --link-host and --link-port',
    { aliases: ['MCP_PUBLIC_URL'] },
  ),
  trustedProxy: defineSetting(
    networks,
    [],
    'proxies in front, whose X-Forwarded-For gives the address of the client: for the log and the rate limit',
  ),
  data: defineSetting(
    requiredText,
    getDefaultDataFolder,
    'folder for the database and, unless set otherwise, the files',
  ),
  filesDir: defineSetting(
    optionalText,
    null,
    'folder for the bytes of files; default: files in the data folder',
    {
      aliases: ['MCP_FILES_DIR'],
    },
  ),
  placesDir: defineSetting(
    optionalText,
    null,
    'folder for /workspace and /artifacts of users; several servers must share it; default: places in the data folder',
  ),
  database: defineSetting(optionalText, null, 'postgres://… URL; default: SQLite in the data folder', {
    secret: true,
  }),
  storage: defineSetting(
    choiceFrom('disk', 'memory', 's3', 'azure'),
    'disk',
    'where bytes are kept: disk, s3, azure, or memory, which loses them at the end',
  ),
  s3Bucket: defineSetting(optionalText, null, 's3: the bucket'),
  s3Prefix: defineSetting(optionalText, null, 's3: prefix of all object keys'),
  s3Endpoint: defineSetting(
    optionalBaseUrl,
    null,
    's3: URL of the store; default: that of AWS for the region',
    {
      aliases: ['AWS_ENDPOINT_URL_S3', 'AWS_ENDPOINT_URL'],
    },
  ),
  s3Region: defineSetting(requiredText, 'us-east-1', 's3: the region', {
    aliases: ['AWS_REGION', 'AWS_DEFAULT_REGION'],
  }),
  s3PathStyle: defineSetting(
    choiceFrom('auto', 'on', 'off'),
    'auto',
    's3: bucket in the path instead of the host name; auto: if --s3-endpoint is set',
  ),
  s3AccessKeyId: defineSetting(optionalText, null, 's3: id of the access key', {
    aliases: ['AWS_ACCESS_KEY_ID'],
    secret: true,
  }),
  s3SecretAccessKey: defineSetting(optionalText, null, 's3: the secret access key', {
    aliases: ['AWS_SECRET_ACCESS_KEY'],
    secret: true,
  }),
  s3SessionToken: defineSetting(optionalText, null, 's3: token of temporary credentials', {
    aliases: ['AWS_SESSION_TOKEN'],
    secret: true,
  }),
  azureContainer: defineSetting(optionalText, null, 'azure: the container'),
  azurePrefix: defineSetting(optionalText, null, 'azure: prefix of all blob names'),
  azureAccount: defineSetting(optionalText, null, 'azure: the storage account', {
    aliases: ['AZURE_STORAGE_ACCOUNT'],
  }),
  azureKey: defineSetting(optionalText, null, 'azure: key of the account', {
    aliases: ['AZURE_STORAGE_KEY'],
    secret: true,
  }),
  azureSas: defineSetting(optionalText, null, 'azure: shared access signature, in place of the key', {
    aliases: ['AZURE_STORAGE_SAS_TOKEN'],
    secret: true,
  }),
  azureConnectionString: defineSetting(optionalText, null, 'azure: account, key and endpoint in one', {
    aliases: ['AZURE_STORAGE_CONNECTION_STRING'],
    secret: true,
  }),
  azureEndpoint: defineSetting(
    optionalBaseUrl,
    null,
    'azure: URL of the blob service; default: that of the account',
    {
      aliases: ['AZURE_STORAGE_SERVICE_ENDPOINT'],
    },
  ),
  partSize: defineSetting(
    bytes,
    8 * megabyte,
    's3, azure: size of the parts of a large object; a transfer holds up to four in memory',
  ),
  downloads: defineSetting(
    choiceFrom('stream', 'redirect', 'accel'),
    'stream',
    'how large files are sent: stream, redirect to a presigned URL (s3, azure), accel by nginx (disk)',
  ),
  redirectFrom: defineSetting(bytes, megabyte, 'redirect, accel: smallest file that is not streamed'),
  accelPrefix: defineSetting(requiredText, '/workcrate-objects/', 'accel: the internal location of nginx'),
  auth: defineSetting(
    choicesFrom('keys', 'oauth'),
    [],
    `who may use the server: users with keys (${programName} user), with oauth tokens, or both; default: everyone on this machine`,
  ),
  oauthIssuer: defineSetting(optionalBaseUrl, null, 'oauth: issuer whose tokens are accepted'),
  oauthAudience: defineSetting(optionalText, null, 'oauth: audience of the tokens; default: the URL of /mcp'),
  oauthUserClaim: defineSetting(requiredText, 'sub', 'oauth: claim that says who the user is'),
  oauthScopes: defineSetting(list, [], 'oauth: scopes that every token has in addition to its own'),
  oauthClientId: defineSetting(
    optionalText,
    null,
    'oauth: id of the page as a client of the issuer, so that people can sign in to the page',
  ),
  oauthClientSecret: defineSetting(
    optionalText,
    null,
    'oauth: secret of that client; without it the page is a public client',
    { secret: true },
  ),
  tools: defineSetting(
    list,
    ['default'],
    'groups of tools to offer: default, all, or names (code, artifacts, files, crates, documents, client, skills, discovery, operator, and beyond the default scripts, validation, packages; gateway alone: only what --gateway names)',
  ),
  structured: defineSetting(
    trueOrFalse,
    false,
    'give all clients structured content and output schemas; a program can ask for them with /mcp?structured=1',
  ),
  fileTtl: defineSetting(seconds(1, 3650 * day), 3600, 'seconds that a file and its links live', {
    aliases: ['MCP_FILE_TTL'],
  }),
  maxTtl: defineSetting(
    seconds(1, 3650 * day),
    30 * day,
    'longest lifetime in seconds that a caller may ask for',
  ),
  taskTtl: defineSetting(
    seconds(1, 365 * day),
    day,
    'seconds that the result of an MCP task is kept after its end',
  ),
  uploadTtl: defineSetting(seconds(1, 365 * day), 3600, 'seconds within which an upload link must be used'),
  sweepInterval: defineSetting(seconds(1, day), 300, 'seconds between sweeps of what has expired'),
  maxFileSize: defineSetting(bytes, 16 * gigabyte, 'largest file accepted'),
  maxBundleFiles: defineSetting(integer(1, 100_000), 10_000, 'most files in one bundle'),
  quotaUserBytes: defineSetting(bytes, 64 * gigabyte, 'most bytes kept for one user'),
  quotaUserFiles: defineSetting(integer(1, 1e9), 100_000, 'most files kept for one user'),
  quotaTotalBytes: defineSetting(bytes, 256 * gigabyte, 'most bytes kept in all'),
  quotaTotalFiles: defineSetting(integer(1, 1e9), 1_000_000, 'most files kept in all'),
  shareRoots: defineSetting(
    list,
    [],
    'stdio: folders whose files may be shared by path; default: where it was started',
  ),
  stdioHttp: defineSetting(
    trueOrFalse,
    false,
    'stdio: serve all routes over HTTP, not only links; every user of this machine can then run code',
  ),
  ...codeSettings,
  artifactSizeLimitMb: defineSetting(
    integer(0, 1e6),
    50,
    'largest artifact given as base64 or shown, in MB of 1024²',
    {
      aliases: ['MCP_ARTIFACT_SIZE_LIMIT_MB'],
    },
  ),
  keepSuccesses: defineSetting(days(1, 3650), 30, 'days that the record of a run that succeeded is kept'),
  keepFailures: defineSetting(days(1, 3650), 90, 'days that the record of a run that failed is kept'),
  recordsUserBytes: defineSetting(
    bytes,
    512 * megabyte,
    'most bytes of records of runs kept for one user, code and stdin included; the oldest go first',
  ),
  keepResults: defineSetting(
    bytes,
    50 * megabyte,
    'most bytes of the results of one run that are kept until it is packed, so that a later run cannot replace them; 0 keeps none',
  ),
  clientTimeout: defineSetting(seconds(1, 3600), 120, 'seconds that a client has to answer a question'),
  auditLevel: defineSetting(
    choiceFrom('trace', 'info', 'warning', 'off'),
    'trace',
    'least severe line of the audit log: trace has every operation, warning only violations',
  ),
  auditDays: defineSetting(days(1, 3650), 90, 'days that the audit log is kept'),
  auditKey: defineSetting(
    optionalText,
    null,
    'key that signs the audit log: without it, nobody can forge the chain of lines',
    {
      secret: true,
    },
  ),
  webhookUrl: defineSetting(
    optionalUrl,
    null,
    'URL that gets a POST for every built document and every completed download',
    { secret: true },
  ),
  webhookSecret: defineSetting(optionalText, null, 'key of the signature on webhook calls', { secret: true }),
  guessLimit: defineSetting(integer(1, 1e6), 60, 'unknown tokens that one address may try in a minute'),
  idleTimeout: defineSetting(
    seconds(1, 3600),
    60,
    'seconds after which a transfer without progress is ended',
  ),
  stopDelay: defineSetting(
    seconds(0, 600),
    0,
    'seconds that a stopping server keeps serving, so that load balancers see it is not ready',
  ),
  drainTimeout: defineSetting(
    seconds(0, 86_400),
    30,
    'seconds that transfers, calls and runs, also those in the background, get to finish at shutdown',
  ),
  tracing: defineSetting(trueOrFalse, false, 'make OpenTelemetry spans; needs @opentelemetry/api and an SDK'),
  logLevel: defineSetting(
    choiceFrom('debug', 'info', 'warn', 'error', 'off'),
    'info',
    'least severe level logged to stderr: debug, info, warn, error or off',
  ),
} as const;

/** What the settings of the core came to. */
export interface Config extends ValuesOf<typeof settings> {}

import type { SettingName } from '../src/server/settings.ts';

/** The parts of the list of settings, each from the setting that it begins with. */
export const parts: readonly (readonly [first: string, title: string])[] = [
  ['host', 'Address and data'],
  ['s3Bucket', 'S3'],
  ['azureContainer', 'Azure Blob'],
  ['partSize', 'Large objects'],
  ['auth', 'Users'],
  ['tools', 'Files and links'],
  ['quotaUserBytes', 'Quotas'],
  ['shareRoots', 'Over stdio'],
  ['sandbox', 'The sandbox'],
  ['runTimeout', 'Runs'],
  ['artifactSizeLimitMb', 'Artifacts and records'],
  ['crateSources', 'Crates'],
  ['documentTimeout', 'Documents'],
  ['zoteroLibrary', 'Zotero'],
  ['clientRoot', 'Files on your side'],
  ['auditLevel', 'Audit'],
  ['webhookUrl', 'Webhook, limits, shutdown, logs'],
];

/** Defaults that are found out at the start, and so differ from machine to machine. */
export const foundOut: Partial<Record<SettingName, string>> = {
  python: '`/usr/bin/python3`, else the first on `PATH`',
  npm: 'the first on `PATH`, else in `/usr/bin` or `/usr/local/bin`',
  data: '`$XDG_DATA_HOME/workcrate`, else `~/.local/share/workcrate`',
};

/** What the one line of `--help` has no room for. */
export const notes: Partial<Record<SettingName, string>> = {
  trustedProxy: 'From any other peer the header is ignored: [deploy.md](../guide/deploy.md#behind-a-proxy)',
  linkHost: 'The server then accepts this host name',
  publicUrl: 'It may have a path; the server then accepts its host name',
  database: 'Also the path of a SQLite file',
  port: 'The chosen one is printed',
  fileTtl: 'A caller can ask for another time',
  quotaUserBytes: 'What runs leave in their folders is not counted',
  clientPaths: '`filesystem.allowed_paths` in a config file',
  shareRoots: 'No folder, if that is the home folder or `/`',
  stdioHttp: 'With `--auth`, callers of those routes sign in: [connect.md](../guide/connect.md)',
  sandbox: 'If you name one and it does not work, the server does not start: [sandbox.md](sandbox.md)',
  python: 'Not for docker',
  dockerRuntime: "Default: the engine's own",
  runTmp: 'The home folder and `/dev/shm` have this size too',
  tracing: 'See [observe.md](../guide/observe.md#tracing)',
};

/**
 * Turns settings into the options of the database and the storage, and refuses settings that do not fit together. For the server and for commands that use the same data. It opens nothing.
 */
import { dirname, join } from 'node:path';
import type { Config } from '../platform/config/config.ts';
import { WorkcrateError } from '../platform/errors.ts';
import type { StorageOptions } from '../ports/storage/open.ts';

/** Where the state is: a postgres:// URL, or the path of a SQLite database. */
export const getDatabaseLocation = ({ database, data }: Config): string =>
  database ?? join(data, 'workcrate.db');

/** The folder of the SQLite database, or null where the state is in PostgreSQL or in memory. */
export function getSqliteFolder(config: Config): string | null {
  const location = getDatabaseLocation(config);
  return location === ':memory:' || /^postgres(?:ql)?:\/\//i.test(location) ? null : dirname(location);
}

/** The folder of the bytes, where they are kept on disk. */
export const getFilesFolder = ({ filesDir, data }: Config): string => filesDir ?? join(data, 'files');

export function getQuotas(config: Config) {
  return {
    userBytes: config.quotaUserBytes,
    userFiles: config.quotaUserFiles,
    totalBytes: config.quotaTotalBytes,
    totalFiles: config.quotaTotalFiles,
  };
}

/** The options of the storage that the settings name. Refuses incomplete settings. */
export function toStorageOptions(config: Config): StorageOptions {
  switch (config.storage) {
    case 'disk':
      return { kind: 'disk', directory: getFilesFolder(config) };
    case 'memory':
      return { kind: 'memory' };
    case 's3':
      return {
        ...toS3Options(config, '--storage s3'),
        bucket: demandSetting(config.s3Bucket, '--storage s3', '--s3-bucket'),
        prefix: toKeyPrefix(config.s3Prefix),
      };
    case 'azure':
      return {
        ...toAzureOptions(config, '--storage azure'),
        container: demandSetting(config.azureContainer, '--storage azure', '--azure-container'),
        prefix: toKeyPrefix(config.azurePrefix),
      };
  }
}

/** What is the same for every bucket. `wanter` is who needs a setting, for the message if it is missing. */
export function toS3Options(config: Config, wanter: string) {
  const { s3Endpoint: endpoint, s3PathStyle: pathStyle } = config;
  return {
    kind: 's3',
    endpoint,
    region: config.s3Region,
    pathStyle: pathStyle === 'auto' ? endpoint !== null : pathStyle === 'on',
    accessKeyId: demandSetting(config.s3AccessKeyId, wanter, 'AWS_ACCESS_KEY_ID'),
    secretAccessKey: demandSetting(config.s3SecretAccessKey, wanter, 'AWS_SECRET_ACCESS_KEY'),
    sessionToken: config.s3SessionToken,
    partBytes: demandPartSize(config),
  } as const;
}

/** The same for every container. */
export function toAzureOptions(config: Config, wanter: string) {
  const given = parseConnectionString(config.azureConnectionString);
  const address = config.azureEndpoint ?? given['BlobEndpoint'] ?? null;
  if (address === null && given['UseDevelopmentStorage']?.toLowerCase() === 'true')
    throw emulatorAddressError();
  const key = config.azureKey ?? given['AccountKey'] ?? null;
  const sas = config.azureSas ?? given['SharedAccessSignature'] ?? null;
  const stated =
    config.azureAccount ?? given['AccountName'] ?? findAzureAccount(address, key === null && sas !== null);
  const account = demandSetting(stated, wanter, 'AZURE_STORAGE_ACCOUNT');
  const suffix = given['EndpointSuffix'] ?? 'core.windows.net';
  return {
    kind: 'azure',
    endpoint: (address ?? `https://${account}.blob.${suffix}`).replace(/\/+$/, ''),
    account,
    credential: key === null ? { sas: demandSetting(sas, wanter, azureCredentials) } : { key },
    partBytes: demandPartSize(config),
  } as const;
}

const azureCredentials = 'AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN or AZURE_STORAGE_CONNECTION_STRING';

const emulatorAddressError = (): WorkcrateError =>
  new WorkcrateError(
    'config_invalid',
    'UseDevelopmentStorage=true does not say where the emulator is. Give its address by --azure-endpoint, such as ' +
      'http://127.0.0.1:10000/devstoreaccount1, with AZURE_STORAGE_ACCOUNT and AZURE_STORAGE_KEY.',
  );

/**
 * The account that an address is of: `https://ACCOUNT.blob.…`, or null. A shared access signature needs none, so that
 * any host will do, to be named in messages.
 */
function findAzureAccount(address: string | null, isAnyEnough: boolean): string | null {
  if (address === null) return null;
  const host = URL.parse(address)?.hostname ?? '';
  const [, account] = /^([a-z0-9]{3,24})(?:-secondary)?\.(?:\w+\.)?blob\./.exec(host) ?? [];
  return account ?? (isAnyEnough ? host : null);
}

/** `Name=value;Name=value`, where values may hold `=` themselves. */
function parseConnectionString(connection: string | null): Record<string, string> {
  const pairs = (connection ?? '').split(';').filter((pair) => /=\s*\S/.test(pair));
  return Object.fromEntries(
    pairs.map((pair) => [pair.slice(0, pair.indexOf('=')).trim(), pair.slice(pair.indexOf('=') + 1).trim()]),
  );
}

const toKeyPrefix = (text: string | null): string =>
  text === null ? '' : `${text.replaceAll(/^\/+|\/+$/g, '')}/`.replace(/^\/$/, '');

/** S3 takes no part but the last below 5 MB, and none of more than 5 GB. */
function demandPartSize({ partSize }: Config): number {
  if (partSize >= 5 * 1024 ** 2 && partSize <= 1024 ** 3) return partSize;
  throw new WorkcrateError('config_invalid', '--part-size must be from 5MB to 1GB.');
}

function demandSetting(value: string | null, wanter: string, setting: string): string {
  if (value !== null) return value;
  throw new WorkcrateError('config_invalid', `${wanter} needs ${setting}.`);
}

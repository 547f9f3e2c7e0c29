import { join } from 'node:path';
import type { Config } from './config.ts';
import { WorkcrateError } from './errors.ts';
import type { StorageOptions } from './storage/open.ts';

/** Where the state is: a postgres:// URL, or the path of a SQLite database. */
export const databaseLocation = ({ database, data }: Config): string =>
  database ?? join(data, 'workcrate.db');

/** The folder of the bytes, where they are kept on disk. */
export const filesFolder = ({ filesDir, data }: Config): string => filesDir ?? join(data, 'files');

/** Which storage the settings name; refuses what they leave open. */
export function storageOptions(config: Config): StorageOptions {
  switch (config.storage) {
    case 'disk':
      return { kind: 'disk', directory: filesFolder(config) };
    case 'memory':
      return { kind: 'memory' };
    case 's3':
      return s3Options(config);
    case 'azure':
      return azureOptions(config);
  }
}

function s3Options(config: Config): StorageOptions {
  const { s3Endpoint: endpoint, s3PathStyle: pathStyle } = config;
  return {
    kind: 's3',
    bucket: named(config.s3Bucket, 's3', '--s3-bucket'),
    prefix: asPrefix(config.s3Prefix),
    endpoint,
    region: config.s3Region,
    pathStyle: pathStyle === 'auto' ? endpoint !== null : pathStyle === 'on',
    accessKeyId: named(config.s3AccessKeyId, 's3', 'AWS_ACCESS_KEY_ID'),
    secretAccessKey: named(config.s3SecretAccessKey, 's3', 'AWS_SECRET_ACCESS_KEY'),
    sessionToken: config.s3SessionToken,
    partBytes: partBytes(config),
  };
}

function azureOptions(config: Config): StorageOptions {
  const given = parsed(config.azureConnectionString);
  const account = named(
    config.azureAccount ?? given['AccountName'] ?? null,
    'azure',
    'AZURE_STORAGE_ACCOUNT',
  );
  const suffix = given['EndpointSuffix'] ?? 'core.windows.net';
  const key = config.azureKey ?? given['AccountKey'];
  const sas = config.azureSas ?? given['SharedAccessSignature'];
  const endpoint = config.azureEndpoint ?? given['BlobEndpoint'] ?? `https://${account}.blob.${suffix}`;
  return {
    kind: 'azure',
    container: named(config.azureContainer, 'azure', '--azure-container'),
    prefix: asPrefix(config.azurePrefix),
    endpoint: endpoint.replace(/\/+$/, ''),
    account,
    credential: key === undefined ? { sas: named(sas ?? null, 'azure', 'AZURE_STORAGE_KEY') } : { key },
    partBytes: partBytes(config),
  };
}

/** `Name=value;Name=value`, where values may hold `=` themselves. */
function parsed(connection: string | null): Record<string, string> {
  const pairs = (connection ?? '').split(';').filter((pair) => pair.includes('='));
  return Object.fromEntries(
    pairs.map((pair) => [pair.slice(0, pair.indexOf('=')).trim(), pair.slice(pair.indexOf('=') + 1).trim()]),
  );
}

const asPrefix = (text: string | null): string =>
  text === null ? '' : `${text.replaceAll(/^\/+|\/+$/g, '')}/`.replace(/^\/$/, '');

/** S3 takes no part but the last below 5 MB, and none of more than 5 GB. */
function partBytes({ partSize }: Config): number {
  if (partSize >= 5 * 1024 ** 2 && partSize <= 1024 ** 3) return partSize;
  throw new WorkcrateError('config_invalid', '--part-size must be from 5MB to 1GB.');
}

function named(value: string | null, storage: string, setting: string): string {
  if (value !== null) return value;
  throw new WorkcrateError('config_invalid', `--storage ${storage} needs ${setting}.`);
}

/**
 * Turns settings into the options of the sources of crates and of their index. It opens nothing. What is the same for the
 * storage of files is in `core/store-options.ts`.
 */
import { join } from 'node:path';
import type { SettingsOf } from '../../core/feature.ts';
import { toAzureOptions, toS3Options } from '../../core/store-options.ts';
import type { Config } from '../../platform/config/config.ts';
import type { crateSettings } from './settings.ts';
import { parseSourceAddress, type SourceOptions } from './sources/address.ts';

/** The settings of the core and of crates. */
export type CrateConfig = SettingsOf<typeof crateSettings>;

/** Where the rows of crates are: beside the state on PostgreSQL, else in a file of their own, which can be made again. */
export const getCrateRowsLocation = ({ database, data }: Config): string =>
  database !== null && /^postgres(?:ql)?:\/\//i.test(database) ? database : join(data, 'crates.db');

/** The index for searching, which each server makes of the rows. */
export const getCrateIndexFile = ({ data }: Config): string => join(data, 'crates-index.db');

/** The options of a crate source, which may be in the same store as the files. Refuses incomplete settings. */
export function toSourceOptions(config: Config, url: string): SourceOptions {
  const address = parseSourceAddress(url);
  switch (address.kind) {
    case 'folder':
      return address;
    case 's3':
      return { ...toS3Options(config, 'A crate source s3://…'), ...address };
    case 'azure':
      return { ...toAzureOptions(config, 'A crate source azure://…'), ...address };
  }
}

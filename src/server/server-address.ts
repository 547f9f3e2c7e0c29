/**
 * The file `url` in the data folder: where its server listens, for `npx workcrate status` and others. It does not prove
 * that the server still runs: the caller compares `instance`.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { getErrno } from '../platform/errors.ts';

/** Where a server listens, and the random id in its /status: another server may take the port after a crash. */
export interface ServerAddress {
  readonly url: string;
  readonly instance: string;
  /** What its links begin with. */
  readonly base: string;
}

const getAddressFile = (folder: string): string => join(folder, 'url');

/** Writes the address of the server into its data folder, for commands. A server that is killed leaves it there. */
export function writeServerAddress(folder: string, { url, instance, base }: ServerAddress): Disposable {
  try {
    writeFileSync(getAddressFile(folder), `${url}\n${instance}\n${base}\n`, { mode: 0o600 });
  } catch (error) {
    // The file is a convenience, since `status` also takes --url: a full disk must not keep the server from starting.
    if (!['ENOSPC', 'EDQUOT', 'EROFS'].includes(getErrno(error) ?? '')) throw error;
  }
  return { [Symbol.dispose]: () => rmSync(getAddressFile(folder), { force: true }) };
}

/** Where the server of a data folder listens, or did before it was killed; null if there is no such file. */
export function readServerAddress(folder: string): ServerAddress | null {
  try {
    const [url = '', instance = '', base = ''] = readFileSync(getAddressFile(folder), 'utf8').split('\n');
    return url === '' ? null : { url, instance, base: base || url };
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EACCES'].includes(getErrno(error) ?? '')) return null;
    throw error;
  }
}

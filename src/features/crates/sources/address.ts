/**
 * Addresses of crate sources, and the source that each of them opens. It holds no credentials, which are settings of
 * their own, and opens no crates: `container.ts` does.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { getErrno, WorkcrateError } from '../../../platform/errors.ts';
import { syncFolder } from '../../../platform/paths/paths.ts';
import { openRemoteSource, type RemoteSourceOptions } from '../../../ports/storage/open.ts';
import { ownNameMark, type Source } from '../../../ports/storage/source.ts';
import { createFolderSource } from './folder-source.ts';

/** What the address of a source names. A prefix is empty or ends in `/`. */
export type SourceAddress =
  | { readonly kind: 'folder'; readonly directory: string }
  | { readonly kind: 's3'; readonly bucket: string; readonly prefix: string }
  | { readonly kind: 'azure'; readonly container: string; readonly prefix: string };

/**
 * `file:///…` or an absolute path, `s3://bucket/prefix`, `azure://container/prefix`. What follows a bucket is
 * taken literally, as the tools of those stores do: `%20` is not a space there.
 */
export function parseSourceAddress(text: string): SourceAddress {
  const [, scheme, rest = ''] = /^([a-z0-9]+):\/\/(.*)$/s.exec(text) ?? [];
  if (scheme === undefined || scheme === 'file') return parseFolderAddress(text);
  const [, name = '', path = ''] = /^([^/]*)\/?(.*)$/s.exec(rest) ?? [];
  if (scheme === 's3' && bucketNamePattern.test(name))
    return { kind: 's3', bucket: name, prefix: parseObjectPrefix(path, text) };
  if (scheme === 'azure' && containerNamePattern.test(name))
    return { kind: 'azure', container: name, prefix: parseObjectPrefix(path, text) };
  throw malformedAddressError(text, 'it names no folder, bucket or container');
}

const bucketNamePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{1,254}$/;
const containerNamePattern = /^(?:[a-z0-9](?:-?[a-z0-9]){2,62}|\$root|\$web)$/;

function parseFolderAddress(text: string): SourceAddress {
  const path = text.startsWith('file:') ? parseFileUrlPath(text) : text;
  if (!isAbsolute(path)) throw malformedAddressError(text, 'its path is not absolute');
  if (path.includes('\0')) throw malformedAddressError(text, 'it contains NUL');
  return { kind: 'folder', directory: resolve(path) };
}

function parseFileUrlPath(text: string): string {
  if (!/^file:\/\/(?:localhost)?\//.test(text))
    throw malformedAddressError(text, 'it is not the URL of a local file');
  try {
    return fileURLToPath(text);
  } catch {
    throw malformedAddressError(text, 'it is not the URL of a local file');
  }
}

function parseObjectPrefix(path: string, text: string): string {
  const prefix = path.replaceAll(/^\/+|\/+$/g, '');
  if (prefix.includes('?'))
    throw malformedAddressError(text, 'it contains a "?"; credentials do not belong here');
  if (prefix === '') return '';
  if (/[\0\ufffd]/.test(prefix) || prefix.split('/').some((part) => ['', '.', '..'].includes(part)))
    throw malformedAddressError(
      text,
      'its prefix has an empty, "." or ".." part, or characters that no name can have',
    );
  return `${prefix}/`;
}

/** An address that may contain a credential is not shown, except for its scheme. */
function malformedAddressError(text: string, reason: string): WorkcrateError {
  const shown = /[?@]/.test(text) ? `${text.slice(0, text.search(/:/) + 1)}…` : text.slice(0, 200);
  return new WorkcrateError(
    'config_invalid',
    `The crate source ${JSON.stringify(shown)} is not valid: ${reason}. Write it as file:///data/crates, ` +
      's3://bucket/prefix or azure://container/prefix; credentials and endpoints are separate settings.',
  );
}

export type SourceOptions =
  | {
      readonly kind: 'folder';
      readonly directory: string;
      /** Its name in ids and links, if that is not its own URL. */
      readonly knownAs?: string;
    }
  | RemoteSourceOptions;

/** Opens a source of any kind. */
export async function openCrateSource(
  options: SourceOptions,
  limits?: Parameters<typeof openRemoteSource>[1],
): Promise<Source> {
  return options.kind === 'folder'
    ? createFolderSource(options.directory, options.knownAs)
    : openRemoteSource(options, limits);
}

/** In the folder itself, so that it moves with the folder. Listings leave it out. */
const sourceNameFile = `${ownNameMark}source`;
const maxSourceNameLength = 4096;

/**
 * The URL that a folder had when crates were first packed into it, which is stored at that time. Null if it cannot be
 * known: then the current URL of the folder is used.
 */
export function readLastingName(directory: string): string | null {
  const file = join(directory, sourceNameFile);
  const own = pathToFileURL(resolve(directory)).href.replace(/\/*$/, '/');
  const written = readNameFile(file);
  if (written === 'unreadable') return null;
  if (written !== null) return isLastingName(written) ? written : null;
  try {
    writeNameFile(directory, file, `${own}\n`);
    return own;
  } catch (error) {
    // Another server was first, or the folder does not exist or is read-only.
    const first = getErrno(error) === 'EEXIST' ? readNameFile(file) : null;
    return first !== null && isLastingName(first) ? first : null;
  }
}

const isLastingName = (name: string): boolean =>
  name.startsWith('file:///') && name.endsWith('/') && name.length < maxSourceNameLength;

/** Null where there is none, or where a loss of power left nothing of it: an empty file, or zeros. */
function readNameFile(file: string): string | null {
  try {
    return readFileSync(file, 'utf8').replaceAll('\0', '').trim() || null;
  } catch (error) {
    return getErrno(error) === 'ENOENT' ? null : 'unreadable';
  }
}

/** On the disk when it returns: ids of crates go by it, and links to them. */
function writeNameFile(directory: string, file: string, text: string): void {
  const part = `${file}-${randomBytes(6).toString('hex')}`;
  try {
    writeFileSync(part, text, { mode: 0o600, flag: 'wx', flush: true });
    // What a loss of power left is replaced; what another server wrote is not.
    if (existsSync(file)) renameSync(part, file);
    else linkOrRename(part, file);
    syncFolder(directory);
  } finally {
    rmSync(part, { force: true });
  }
}

function linkOrRename(part: string, file: string): void {
  try {
    linkSync(part, file);
  } catch (error) {
    // Some file systems have no links.
    if (!['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP'].includes(getErrno(error) ?? '')) throw error;
    renameSync(part, file);
  }
}

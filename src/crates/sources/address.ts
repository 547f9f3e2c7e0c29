import { readFileSync, writeFileSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { errnoOf, WorkcrateError } from '../../errors.ts';
import { openRemoteSource, type RemoteSourceOptions } from '../../storage/open.ts';
import { ownNameMark, type Source } from '../../storage/source.ts';
import { folderSource } from './folder-source.ts';

/** What the address of a source names. A prefix is empty or ends in `/`. */
export type Address =
  | { readonly kind: 'folder'; readonly directory: string }
  | { readonly kind: 's3'; readonly bucket: string; readonly prefix: string }
  | { readonly kind: 'azure'; readonly container: string; readonly prefix: string };

/**
 * `file:///…` or an absolute path, `s3://bucket/prefix`, `azure://container/prefix`. What follows a bucket is taken as
 * it stands, as the tools of those stores do: `%20` there is no space.
 */
export function parseAddress(text: string): Address {
  const [, scheme, rest = ''] = /^([a-z0-9]+):\/\/(.*)$/s.exec(text) ?? [];
  if (scheme === undefined || scheme === 'file') return folderAt(text);
  const [, name = '', path = ''] = /^([^/]*)\/?(.*)$/s.exec(rest) ?? [];
  if (scheme === 's3' && bucketForm.test(name))
    return { kind: 's3', bucket: name, prefix: prefixOf(path, text) };
  if (scheme === 'azure' && containerForm.test(name))
    return { kind: 'azure', container: name, prefix: prefixOf(path, text) };
  throw malformed(text, 'it names no folder, bucket or container');
}

const bucketForm = /^[A-Za-z0-9][A-Za-z0-9._-]{1,254}$/;
const containerForm = /^(?:[a-z0-9](?:-?[a-z0-9]){2,62}|\$root|\$web)$/;

function folderAt(text: string): Address {
  const path = text.startsWith('file:') ? filePath(text) : text;
  if (!isAbsolute(path)) throw malformed(text, 'its path is not absolute');
  if (path.includes('\0')) throw malformed(text, 'it holds a NUL');
  return { kind: 'folder', directory: resolve(path) };
}

function filePath(text: string): string {
  if (!/^file:\/\/(?:localhost)?\//.test(text)) throw malformed(text, 'it is no URL of a local file');
  try {
    return fileURLToPath(text);
  } catch {
    throw malformed(text, 'it is no URL of a local file');
  }
}

function prefixOf(path: string, text: string): string {
  const prefix = path.replaceAll(/^\/+|\/+$/g, '');
  if (prefix.includes('?')) throw malformed(text, 'it holds a "?"; credentials do not belong here');
  if (prefix === '') return '';
  if (/[\0\ufffd]/.test(prefix) || prefix.split('/').some((part) => ['', '.', '..'].includes(part)))
    throw malformed(text, 'its prefix has an empty, "." or ".." part, or characters that no name has');
  return `${prefix}/`;
}

/** Of what may hold a credential nothing is told but how it begins. */
function malformed(text: string, reason: string): WorkcrateError {
  const shown = /[?@]/.test(text) ? `${text.slice(0, text.search(/:/) + 1)}…` : text.slice(0, 200);
  return new WorkcrateError(
    'config_invalid',
    `The crate source ${JSON.stringify(shown)} is not understood: ${reason}. Give it as file:///data/crates, ` +
      's3://bucket/prefix or azure://container/prefix; credentials and endpoints are settings of their own.',
  );
}

export type SourceOptions =
  | {
      readonly kind: 'folder';
      readonly directory: string;
      /** What ids and links call it, where that is not its own URL. */
      readonly knownAs?: string;
    }
  | RemoteSourceOptions;

/** Every kind of source there is. */
export async function openSource(
  options: SourceOptions,
  limits?: Parameters<typeof openRemoteSource>[1],
): Promise<Source> {
  return options.kind === 'folder'
    ? folderSource(options.directory, options.knownAs)
    : openRemoteSource(options, limits);
}

/** In the folder itself, so that it goes along wherever the folder goes. No listing tells it. */
const nameFile = `${ownNameMark}source`;
const longestName = 4096;

/**
 * The URL that a folder had when crates were first packed into it. It is written down at that time. Null where that
 * cannot be known: then the folder is known by the URL that it has.
 */
export function lastingNameOf(directory: string): string | null {
  const file = join(directory, nameFile);
  const own = pathToFileURL(resolve(directory)).href.replace(/\/*$/, '/');
  try {
    const name = readFileSync(file, 'utf8').trim();
    return name.startsWith('file:///') && name.endsWith('/') && name.length < longestName ? name : null;
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') return null;
  }
  try {
    writeFileSync(file, `${own}\n`, { mode: 0o600, flag: 'wx' });
    return own;
  } catch (error) {
    // Another server was first, or the folder is not there, or cannot be written to.
    return errnoOf(error) === 'EEXIST' ? lastingNameOf(directory) : null;
  }
}

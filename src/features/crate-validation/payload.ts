/**
 * Finds out which of the files that the metadata names are in the crate. The files of a crate are listed once, whatever
 * their number, and only what was asked for is remembered. No file is read but the beginning of the preview.
 */
import type { CrateContainer } from '../crates/sources/sources.ts';
import type { Payload } from './rule.ts';
import type { DocumentView } from './view.ts';

const previewFileName = 'ro-crate-preview.html';
const previewBytes = 4096;

export async function gatherPayload(
  document: DocumentView,
  container: CrateContainer,
  { hidesDotFiles, signal }: { readonly hidesDotFiles: boolean; readonly signal: AbortSignal },
): Promise<Payload> {
  const { files, folders, datasets } = listNamedPaths(document);
  const sizes = new Map<string, number>();
  const found = new Set<string>();
  for await (const { path, size } of container.files(signal)) {
    if (files.has(path)) sizes.set(path, size);
    for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) {
      const folder = path.slice(0, at);
      if (folders.has(folder)) found.add(folder);
    }
  }
  // An empty folder is in no list of files.
  for (const folder of datasets)
    if (!found.has(folder) && !hasHiddenPart(folder) && (await container.hasFolder(folder, signal)))
      found.add(folder);
  const isUnknown = (path: string): boolean => hidesDotFiles && hasHiddenPart(path);
  const ask = <T>(path: string, get: (spelling: string) => T | undefined): T | undefined =>
    listSpellings(path)
      .map(get)
      .find((answer) => answer !== undefined);
  return {
    hasFile: (path) => (isUnknown(path) ? null : ask(path, (one) => sizes.get(one)) !== undefined),
    hasFolder: (path) =>
      isUnknown(path) ? null : ask(stripSlashes(path), (one) => found.has(one) || undefined) === true,
    sizeOf: (path) => ask(path, (one) => sizes.get(one)) ?? null,
    preview: await readPreview(container, signal),
  };
}

/** Of a crate that is only its metadata. */
export const noPayload: Payload = {
  hasFile: () => null,
  hasFolder: () => null,
  sizeOf: () => null,
  preview: null,
};

interface NamedPaths {
  readonly files: Set<string>;
  readonly folders: Set<string>;
  /** Of the folders those that are called one. */
  readonly datasets: Set<string>;
}

/** Every relative @id may be that of a file or of a folder: which one it should be is for the rules. */
function listNamedPaths({ entities, toPath }: DocumentView): NamedPaths {
  const named: NamedPaths = { files: new Set(), folders: new Set(), datasets: new Set() };
  for (const { id, types } of entities) {
    const path = id === null ? null : toPath(id);
    for (const one of path === null ? [] : listSpellings(path)) {
      const folder = stripSlashes(one);
      if (folder === '') continue;
      named.files.add(one);
      named.folders.add(folder);
      if (types.includes('Dataset')) named.datasets.add(folder);
    }
  }
  return named;
}

/** A path of an @id as the file may be named: decoded, or as it is. */
function listSpellings(path: string): string[] {
  const decoded = decodePath(path);
  return decoded === path ? [path] : [decoded, path];
}

function decodePath(path: string): string {
  if (!path.includes('%')) return path;
  try {
    return decodeURIComponent(path);
  } catch (error) {
    // A literal percent sign.
    if (error instanceof URIError) return path;
    throw error;
  }
}

function stripSlashes(path: string): string {
  let end = path.length;
  while (end > 0 && path[end - 1] === '/') end--;
  return path.slice(0, end);
}

const hasHiddenPart = (path: string): boolean => /(?:^|\/)\./.test(path);

async function readPreview(container: CrateContainer, signal: AbortSignal): Promise<string | null> {
  const file = await container.find(previewFileName, signal);
  if (file === null || file.problem !== null) return null;
  let text = '';
  for await (const chunk of container.read(file, { limit: Number.MAX_SAFE_INTEGER, signal })) {
    text += Buffer.from(chunk).toString('latin1');
    if (text.length >= previewBytes) break;
  }
  return text.slice(0, previewBytes);
}

/**
 * Writes what tools give into the folders of a run: large values and pictures into its working directory, and what code
 * saves to where it says. The folders are hostile, so they are entered through `platform/paths/` alone. Whose bytes may be read
 * is not decided here.
 */
import { fchownSync, write } from 'node:fs';
import { posix } from 'node:path';
import { promisify } from 'node:util';
import { isWorkcrateError, WorkcrateError } from '../../platform/errors.ts';
import {
  joinComponents,
  openBelow,
  parseName,
  parsePath,
  type Components,
} from '../../platform/paths/paths.ts';
import type { Sandbox, SandboxFolders, Workspace } from '../../ports/sandbox/sandbox.ts';
import { formatBytes } from '../../platform/text/text.ts';

/** A file that was written for code, as it is told. */
export interface WrittenFile {
  readonly name: string;
  /** As code sees it. */
  readonly path: string;
  readonly size: number;
  readonly media_type: string;
}

/** Bytes with their description. */
export interface FileSource {
  readonly name: string;
  /** By which it is recorded: the id of a stored file, or of a link. */
  readonly origin: string;
  readonly size: number;
  readonly mediaType: string;
  read(signal: AbortSignal): AsyncIterable<Uint8Array>;
}

export interface RunFilesOptions {
  readonly sandbox: Pick<Sandbox, 'claimDisk' | 'limits' | 'folders'>;
  readonly place: Workspace;
  /** As seen inside. */
  readonly workingDir: string;
  /** The folder in /workspace that is used where the working directory is of the run alone. */
  readonly otherwise: string;
  /** Ends with the run. */
  readonly signal: AbortSignal;
}

export interface RunFiles {
  /** Writes bytes under a name like this one, in the working directory. */
  add(name: string, mediaType: string, bytes: Uint8Array): Promise<WrittenFile>;
  /** Writes to a path, as code sees it. */
  save(path: string, source: FileSource): Promise<WrittenFile>;
}

type Root = 'workspace' | 'artifacts';
const roots = { workspace: '/workspace', artifacts: '/artifacts' } as const;

interface Target {
  readonly root: Root;
  readonly path: Components;
}

const maxNameTries = 100;

export function createRunFiles({ sandbox, place, workingDir, otherwise, signal }: RunFilesOptions): RunFiles {
  const folders = sandbox.folders(place);

  async function writeTo(target: Target, source: FileSource): Promise<WrittenFile> {
    if (source.size > sandbox.limits.fileBytes)
      throw new WorkcrateError(
        'too_large',
        `It has ${formatBytes(source.size)}; a file in a run may have at most ${formatBytes(sandbox.limits.fileBytes)}.`,
      );
    using _claim = await sandbox.claimDisk(place, source.size);
    const base = openBelow(place[target.root]);
    using file = base.create(target.path);
    try {
      await copyToDescriptor(file.fd, source, signal);
      if (place.uid !== null) fchownSync(file.fd, place.uid, place.uid);
    } catch (error) {
      base.remove(target.path);
      throw error;
    }
    const path = posix.join(folders?.[target.root] ?? roots[target.root], ...target.path);
    return { name: target.path.at(-1)!, path, size: source.size, media_type: source.mediaType };
  }

  return {
    async add(name, mediaType, bytes) {
      const folder = findTarget(workingDir, folders) ?? { root: 'workspace', path: parseName(otherwise) };
      openBelow(place[folder.root]).makeFolder(folder.path, place.uid);
      for (let attempt = 1; ; attempt++) {
        const path = joinComponents(folder.path, parseName(numberName(name, attempt)));
        const source = { name, origin: name, size: bytes.length, mediaType, read: () => streamBytes(bytes) };
        try {
          return await writeTo({ root: folder.root, path }, source);
        } catch (error) {
          if (!isWorkcrateError(error, 'already_exists') || attempt >= maxNameTries) throw error;
        }
      }
    },
    async save(path, source) {
      const target = findTarget(posix.normalize(path), folders);
      if (target !== null && target.path.length > 0) return writeTo(target, source);
      throw new WorkcrateError(
        'path_refused',
        'save takes the path of a new file in /workspace or /artifacts, or a relative one if the run works there.',
      );
    },
  };
}

/** `a.json`, then `a-2.json`. */
function numberName(name: string, attempt: number): string {
  if (attempt === 1) return name;
  const { name: stem, ext } = posix.parse(name);
  return `${stem}-${attempt}${ext}`;
}

/** Where a path of code is among the user's folders; null where it is in none. */
function findTarget(path: string, folders: SandboxFolders | null): Target | null {
  for (const root of ['workspace', 'artifacts'] as const)
    for (const start of [roots[root], folders?.[root] ?? roots[root]]) {
      if (path === start) return { root, path: [] as unknown as Components };
      if (path.startsWith(`${start}/`)) return { root, path: parsePath(path.slice(start.length + 1)) };
    }
  return null;
}

async function* streamBytes(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

const writeToDescriptor = promisify(write);

async function copyToDescriptor(fd: number, source: FileSource, signal: AbortSignal): Promise<void> {
  let left = source.size;
  for await (const chunk of source.read(signal)) {
    signal.throwIfAborted();
    left -= chunk.length;
    if (left < 0) break;
    for (let done = 0; done < chunk.length;) done += (await writeToDescriptor(fd, chunk, done)).bytesWritten;
  }
  if (left !== 0)
    throw new WorkcrateError('size_mismatch', `It does not have the ${source.size} bytes that it should.`);
}

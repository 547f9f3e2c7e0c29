import { readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { makeFolderAndParents } from '../platform/data-folder/data-folder.ts';
import {
  documentFormats,
  type UserFiles,
  type DocumentBuildRequest,
  type DocumentFormat,
} from '../features/documents/documents.ts';
import { decodeUtf8Text } from '../features/documents/sanitize/markdown.ts';
import { getErrno, isWorkcrateError, WorkcrateError } from '../platform/errors.ts';
import { localCaller } from '../core/identity.ts';
import { createLog } from '../platform/observability/log.ts';
import { openBelow, parsePath } from '../platform/paths/paths.ts';
import { openDocuments } from '../features/documents/open.ts';
import { formatBytes } from '../platform/text/text.ts';
import { features } from '../server/features.ts';
import { openLibrary } from '../server/open-features.ts';
import type { ProgramInput } from './command.ts';
import { createInterruptSignal } from '../platform/command-line/signals.ts';
import { usageError } from '../platform/command-line/usage-error.ts';

/** `workcrate build FILE.md --to pdf,docx`: what build_exports_content does, with files of this machine. */
export async function runBuild(input: ProgramInput): Promise<number> {
  const { config, flags, words } = input;
  const path = words[0]!;
  await using opened = new AsyncDisposableStack();
  const { signal } = opened.use(createInterruptSignal());
  const log = createLog('warn');
  const library = await openLibrary(features, config, { clock: Date.now, log });
  const documents = opened.use(openDocuments({ config, library: () => library, log }));
  const result = await documents.build(localCaller, toBuildRequest(path, flags), {
    signal,
    pictures: openPicturesBelow(dirname(resolve(path))),
    progress: tellProgress,
  });
  clearProgress();
  const folder = resolve(flags['output'] ?? '.');
  makeFolderAndParents(folder);
  for (const { written } of result.built) {
    const name = join(folder, `${getDocumentStem(path)}${written.extension}`);
    writeFileSync(name, written.bytes);
    process.stdout.write(`${name}\n`);
  }
  for (const warning of result.warnings) process.stderr.write(`Warning: ${warning}\n`);
  for (const { format, message } of result.failures)
    process.stderr.write(`${format} could not be built: ${message}\n`);
  return result.failures.length === 0 ? 0 : 1;
}

type BuildFlags = ProgramInput['flags'];

function toBuildRequest(path: string, flags: BuildFlags): DocumentBuildRequest {
  const { bibliography, csl, style, 'reference-doc': referenceDoc } = flags;
  return {
    text: decodeUtf8Text(readInputFile(path), path),
    formats: parseFormats(flags['to'] ?? 'pdf'),
    layout: {},
    bibliography:
      bibliography === undefined
        ? null
        : { text: decodeUtf8Text(readInputFile(bibliography), bibliography), format: null },
    style: {
      name: style ?? null,
      content: csl === undefined ? null : decodeUtf8Text(readInputFile(csl), csl),
    },
    cites: true,
    referenceDoc: referenceDoc === undefined ? null : readInputFile(referenceDoc),
  };
}

function parseFormats(list: string): DocumentFormat[] {
  const named = [...new Set(list.split(',').map((name) => name.trim()))];
  const unknown = named.filter((name) => !documentFormats.includes(name as DocumentFormat));
  if (unknown.length > 0)
    throw usageError(
      `There is no format ${unknown.join(', ')}. The formats are: ${documentFormats.join(', ')}`,
      'build',
    );
  return named as DocumentFormat[];
}

/** Pictures may be beside the document or in folders there, and nowhere else. */
function openPicturesBelow(folder: string): UserFiles {
  const root = openBelow(folder, { links: 'within', hidden: 'refuse' });
  return {
    async artifact(name, most) {
      try {
        using file = root.open(parsePath(name));
        if (file.stats.size <= most) return new Uint8Array(readFileSync(file.fd));
      } catch (error) {
        if (isWorkcrateError(error, 'path_not_found')) return null;
        throw error;
      }
      throw new WorkcrateError('too_large', `${name} is larger than ${formatBytes(most)}.`);
    },
    file: async () => null,
  };
}

const readFailureReasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'a part of its path is a file',
  EISDIR: 'it is a folder. Name the file in it',
  EACCES: 'you have no permission to read it',
};

function readInputFile(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    const errno = getErrno(error);
    if (errno === null) throw error;
    throw new WorkcrateError(
      'path_not_found',
      `${path} cannot be read: ${readFailureReasons[errno] ?? errno}.`,
      {
        cause: error,
      },
    );
  }
}

const getDocumentStem = (path: string): string => basename(path, extname(path)) || 'document';

function tellProgress(done: number, total: number, message: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${done}/${total} ${message} …`);
}

function clearProgress(): void {
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[K');
}

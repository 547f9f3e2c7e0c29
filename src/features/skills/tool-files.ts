/**
 * The files in the folder of tools, which runs see as /tools: which there are, with a line on each, and the documentation
 * of one. Paths come from callers: no way leads out of the folder, and no link is followed. Nothing of it is run.
 */
import type { Caller } from '../../core/identity.ts';
import type { RunProgram } from '../../core/runs/run-program.ts';
import { shareNextTurn } from '../../platform/concurrency/shared-turn.ts';
import { runInSlices } from '../../platform/concurrency/yield.ts';
import { isWorkcrateError, WorkcrateError } from '../../platform/errors.ts';
import {
  openPublicFolder,
  parsePath,
  readOpenFile,
  rootPath,
  type FolderRoot,
  type OpenFile,
} from '../../platform/paths/paths.ts';
import { collectBytes } from '../../platform/streams.ts';
import { formatBytes, quoteName } from '../../platform/text/text.ts';
import {
  findLeadingComment,
  findLeadingDocstring,
  readJavaScriptDocs,
  readPythonDocs,
} from './documentation.ts';
import {
  documentedLanguages,
  findLanguage,
  type DocumentedFile,
  type DocumentedLanguage,
  type ToolFile,
} from './skill.ts';

/** Larger ones are data, or were put together by a program. */
const maxSourceBytes = 1024 ** 2;
/** A line on each of more is not read for a list. */
const maxListedToolFiles = 100;
const maxTreeEntries = 5000;
const maxLevels = 8;
const maxSummaryLength = 200;

const prefix = '/tools/';

interface KnownFile extends ToolFile {
  readonly stamp: string;
}

/** Who asks for the documentation of a file. */
export interface DocumentationRequest {
  readonly caller: Caller;
  readonly signal: AbortSignal;
}

export function createToolFiles(directory: string | null, runProgram: RunProgram) {
  const open = (): FolderRoot => openPublicFolder(directory, '--tools-path');
  let known: ReadonlyMap<string, KnownFile> = new Map();

  const list = shareNextTurn(async (): Promise<ToolFile[]> => {
    const read = new Map<string, KnownFile>();
    for (const { path, size, stamp } of await listSources(open)) {
      const before = known.get(path);
      const isSame = before?.stamp === stamp;
      read.set(path, isSame ? before : { file: prefix + path, size, summary: await summarize(path), stamp });
    }
    known = read;
    return [...read.values()].map(({ stamp: _stamp, ...file }) => file);
  });

  /** By the beginning of the file. What is wrong with it is told to whoever asks for its documentation. */
  async function summarize(path: string): Promise<string> {
    try {
      const { language, text } = toSourceText(path, await readSource(open(), path));
      const told = language === 'python' ? findLeadingDocstring(text) : findLeadingComment(text);
      return told.split('\n')[0]!.trimEnd().slice(0, maxSummaryLength).toWellFormed();
    } catch (error) {
      if (isWorkcrateError(error)) return '';
      throw error;
    }
  }

  async function documentBytes(
    file: string,
    bytes: Buffer,
    { caller, signal }: DocumentationRequest,
  ): Promise<DocumentedFile> {
    const { language, text } = toSourceText(file, bytes);
    const documentation =
      language === 'python'
        ? await readPythonDocs(runProgram, caller, text, signal)
        : readJavaScriptDocs(text);
    return { file, language, size: bytes.length, ...documentation };
  }

  return {
    list,
    documentBytes,
    async document(file: string, request: DocumentationRequest): Promise<DocumentedFile> {
      const path = file.startsWith(prefix) ? file.slice(prefix.length) : file;
      checkLanguage(file);
      return documentBytes(prefix + path, await readSource(open(), path), request);
    },
  };
}

interface ToolFileSource {
  readonly path: string;
  readonly size: number;
  readonly stamp: string;
}

/** The first ones by name. A folder that is not there has none. */
async function listSources(open: () => FolderRoot): Promise<ToolFileSource[]> {
  const sources: ToolFileSource[] = [];
  const enters = (name: string): boolean =>
    !name.startsWith('.') && !name.startsWith('__') && name !== 'node_modules';
  try {
    const steps = open().tree(rootPath, {
      mostEntries: maxTreeEntries,
      mostDepth: maxLevels,
      enters,
    });
    await runInSlices(steps, {
      take({ path, stats }) {
        if (path === null || !stats.isFile() || findLanguage(path) === null) return;
        const stamp = [stats.size, stats.mtimeNs, stats.ctimeNs, stats.ino].join(' ');
        sources.push({ path, size: Number(stats.size), stamp });
      },
    });
  } catch (error) {
    // Not there, or no folder.
    if (isWorkcrateError(error) && error.code.startsWith('path_')) return [];
    throw error;
  }
  return sources.toSorted((a, b) => (a.path < b.path ? -1 : 1)).slice(0, maxListedToolFiles);
}

async function readSource(root: FolderRoot, path: string): Promise<Buffer> {
  using file = openToolFile(root, path);
  if (file.stats.size > maxSourceBytes) throw longSourceError(file.stats.size);
  return await collectBytes(readOpenFile(file), {
    limit: maxSourceBytes,
    tooLong: () => longSourceError(null),
  });
}

function openToolFile(root: FolderRoot, path: string): OpenFile {
  try {
    return root.open(parsePath(path));
  } catch (error) {
    if (!isWorkcrateError(error, 'path_not_found')) throw error;
    throw new WorkcrateError(
      'not_found',
      'There is no such file in /tools. list_skills lists what there is.',
    );
  }
}

function longSourceError(size: number | null): WorkcrateError {
  const had = size === null ? 'more' : formatBytes(size);
  return new WorkcrateError(
    'too_large',
    `The documentation of a file is read up to ${formatBytes(maxSourceBytes)}, and this one has ${had}. Read it in a run.`,
    { details: { limit: maxSourceBytes } },
  );
}

function checkLanguage(file: string): DocumentedLanguage {
  const language = findLanguage(file);
  if (language !== null) return language;
  throw new WorkcrateError(
    'unsupported',
    `Documentation is read from ${documentedLanguages.join(', ')}, by the end of the name (.py, .js, .mjs, .cjs, .ts, .mts, .cts), and ${quoteName(file.slice(0, 200))} is none of these.`,
  );
}

function toSourceText(file: string, bytes: Buffer): { language: DocumentedLanguage; text: string } {
  const language = checkLanguage(file);
  if (bytes.length > maxSourceBytes) throw longSourceError(bytes.length);
  return { language, text: decodeSource(bytes) };
}

function decodeSource(bytes: Buffer): string {
  try {
    if (!bytes.includes(0)) return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
  throw new WorkcrateError(
    'unsupported',
    'The file is not text in UTF-8, so it has no documentation to read.',
  );
}

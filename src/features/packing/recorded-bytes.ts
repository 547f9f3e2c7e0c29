/**
 * Finds the bytes of files that runs made, by the hash that was recorded when their run ended: those that were kept, or
 * those of a file that still has this hash. No other bytes are the run's, whatever their name.
 */
import { isWorkcrateError, WorkcrateError } from '../../platform/errors.ts';
import type { Execution, Executions } from '../../core/runs/executions.ts';
import type { KeptReader, ReadResult, ResultFile } from '../provenance/provenance.ts';
import { computeDigest, type Digest } from '../../core/files/files.ts';
import type { Caller } from '../../core/identity.ts';
import type { Workspace } from '../../ports/sandbox/sandbox.ts';
import { locateWorkspaceFile, measureWorkspaceFile, rereadWorkspaceFile } from './workspace-files.ts';

/** Bytes that have been read once, and have the recorded hash. */
export interface RecordedBytes extends Digest {
  /** When the file in the workspace was changed last; null for kept bytes. */
  readonly modified: number | null;
  /** To be compared with the digest again: code may have changed a file meanwhile. */
  read(signal: AbortSignal): AsyncIterable<Uint8Array>;
}

/** The kept bytes of runs, by their hashes. */
export type KeptBytes = ReturnType<typeof createKeptBytes>;

interface KeptFile {
  readonly id: string;
  readonly file: ResultFile;
}

/** More files of one hash are not looked for. */
const maxAlike = 20;

export interface KeptBytesSources {
  readonly executions: Pick<Executions, 'get'>;
  readonly keptResults: Pick<KeptReader, 'findResult'>;
}

export function createKeptBytes({ executions, keptResults }: KeptBytesSources, caller: Caller) {
  const byHash = new Map<string, KeptFile[]>();
  const known = new Set<string>();

  function add({ id, resultFiles }: Pick<Execution, 'id' | 'resultFiles'>): void {
    if (known.has(id)) return;
    known.add(id);
    for (const file of resultFiles?.files ?? []) {
      if (file.sha256 === null || (file.kept === null && file.size > 0)) continue;
      const alike = byHash.get(file.sha256) ?? [];
      if (alike.length < maxAlike) alike.push({ id, file });
      byHash.set(file.sha256, alike);
    }
  }

  /** A run whose record is gone has no kept bytes either. */
  async function addById(id: string): Promise<void> {
    if (known.has(id)) return;
    try {
      add(await executions.get(caller, id));
    } catch (error) {
      if (!isWorkcrateError(error, 'not_found')) throw error;
      known.add(id);
    }
  }

  return {
    /** What these runs made can be found from now on. */
    add,
    addById,

    /** Kept bytes with this hash, of any run that was added; null where none are left. */
    async find(sha256: string, signal: AbortSignal): Promise<RecordedBytes | null> {
      for (const { id, file } of byHash.get(sha256) ?? []) {
        const read = await keptResults.findResult(caller, id, file);
        const digest = read && (await computeKeptDigest(read, signal));
        if (digest?.sha256 !== sha256) continue;
        return { ...digest, modified: null, read: (reading) => readKeptToPack(read!, file.path, reading) };
      }
      return null;
    },
  };
}

/** Null if they went while they were read, to make room. */
async function computeKeptDigest(read: ReadResult, signal: AbortSignal): Promise<Digest | null> {
  try {
    return await computeDigest(read(signal));
  } catch (error) {
    if (isWorkcrateError(error, 'path_not_found')) return null;
    throw error;
  }
}

async function* readKeptToPack(
  read: ReadResult,
  path: string,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  try {
    yield* read(signal);
  } catch (cause) {
    if (!isWorkcrateError(cause, 'path_not_found')) throw cause;
    throw new WorkcrateError(
      'crate_changed',
      `The kept bytes of ${JSON.stringify(path.slice(0, 200))} made room for others while they were being packed, so no crate was made. Pack again: the crate then says that they are gone.`,
      { cause },
    );
  }
}

/** The file of this name as it is now, if it has the recorded hash; else why it is no use, as a clause. */
export async function findUnchangedFile(
  place: Workspace | null,
  { workingDir, name }: { readonly workingDir: string; readonly name: string },
  { size, sha256 }: { readonly size: number | null; readonly sha256: string },
  signal: AbortSignal,
): Promise<RecordedBytes | string> {
  const file = place && locateWorkspaceFile(place, workingDir, name);
  if (file === null) return 'the file is gone';
  const measured = await measureWorkspaceFile(file, signal, size);
  if (typeof measured === 'string') return `the file ${measured}`;
  if (measured.sha256 !== sha256) return 'the file was changed since';
  return { ...measured, read: (reading) => rereadWorkspaceFile(file, reading) };
}

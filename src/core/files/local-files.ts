/**
 * Copies files of this machine into storage, for clients that run on the same machine (stdio). Only paths below the
 * allow-list `--share-roots` are read, by way of `platform/paths/`. It makes no links (`core/links/tools.ts` does).
 */
import { isAbsolute, relative } from 'node:path';
import { isWorkcrateError, WorkcrateError } from '../../platform/errors.ts';
import type { Caller } from '../identity.ts';
import type { Log } from '../../platform/observability/log.ts';
import { openBelow, parsePath, readOpenFile, type OpenFile } from '../../platform/paths/paths.ts';
import type { Files, StoredFile } from './files.ts';

export function createLocalFiles({
  files,
  roots,
  log,
}: {
  files: Files;
  roots: readonly string[];
  log: Log;
}) {
  return {
    /** A path is absolute, or below the first root. */
    async take(caller: Caller, path: string, keepSeconds: number, signal: AbortSignal): Promise<StoredFile> {
      using opened = openAudited(caller, path);
      await files.demandQuota(caller, opened.stats.size);
      const file = { name: path, origin: 'share', keepSeconds };
      return await files.add(caller, file, readOpenFile(opened), signal);
    },
  };

  /** Logs a refused path, since it is more often an attempt to leave the allowed folders than a mistake. */
  function openAudited(caller: Caller, path: string): OpenFile {
    try {
      const { root, below } = locateBelowRoots(path, roots);
      // Hidden files contain keys and settings more often than results.
      return openBelow(root, { links: 'within', hidden: 'refuse' }).open(parsePath(below));
    } catch (error) {
      if (isWorkcrateError(error, 'path_refused'))
        log.warn('security.path_refused', { user: caller.user, path, kind: error.details['kind'] });
      throw error;
    }
  }
}

export type LocalFiles = ReturnType<typeof createLocalFiles>;

function locateBelowRoots(path: string, roots: readonly string[]): { root: string; below: string } {
  const [first] = roots;
  if (first === undefined)
    throw outsideRootsError(
      'No folder is allowed for sharing by path. Start workcrate with --share-roots DIR.',
    );
  if (!isAbsolute(path)) return { root: first, below: path };
  for (const root of roots) {
    const below = relative(root, path);
    if (below !== '' && !below.startsWith('..') && !isAbsolute(below)) return { root, below };
  }
  throw outsideRootsError(
    `Only files below ${roots.join(' or ')} may be shared. Move the file there, or start workcrate with another --share-roots.`,
  );
}

function outsideRootsError(message: string): WorkcrateError {
  return new WorkcrateError('path_refused', message, { details: { kind: 'outside' } });
}

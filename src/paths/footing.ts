import { closeSync, constants, openSync, statSync, type Stats } from 'node:fs';
import { WorkcrateError } from '../errors.ts';
import { byDescriptor, O_PATH } from './descriptors.ts';
import { byLookup } from './lookups.ts';

/** A thing that a walk has reached and judged. Disposing of it lets go of it, and changes nothing. */
export interface Held extends Disposable {
  readonly stats: Stats;
  /** The path by which `name` in this folder is reached now; `.` is the folder itself. */
  at(name: string): string;
  /** The same for a name that need not be text. */
  atBytes(name: Buffer): string | Buffer;
  /** Opens, for reading, the very file that was judged. Never waits for another process. */
  open(): number;
  /** Creates a regular file in this folder, for writing. Fails where anything stands, even a dead link. */
  create(name: string): number;
}

/** How a walk holds on to what it has judged. `reach` never follows a link: it holds the link. */
export interface Footing {
  readonly root: (directory: string) => Held;
  readonly reach: (folder: Held, name: string | Buffer) => Held;
}

export type FootingName = 'descriptors' | 'lookups';

export const footings: Readonly<Record<FootingName, Footing>> = {
  descriptors: byDescriptor,
  lookups: byLookup,
};

let best: FootingName | undefined;

/** The safest footing that this system has. Only `descriptors` withstands somebody who swaps links. */
export function bestFooting(): FootingName {
  // Windows has no O_NOFOLLOW, and Node would quietly open without it.
  if (constants.O_NOFOLLOW === undefined) {
    throw new WorkcrateError('unsupported', 'Workcrate opens files safely on Linux, macOS and BSD only.');
  }
  best ??= hasDescriptorPaths() ? 'descriptors' : 'lookups';
  return best;
}

/** Asked of the system itself: a container may be Linux and have no /proc, or that of other processes. */
function hasDescriptorPaths(): boolean {
  if (process.platform !== 'linux') return false;
  const fd = openSync('/', O_PATH | constants.O_DIRECTORY);
  try {
    return statSync(`/proc/self/fd/${fd}/.`, { throwIfNoEntry: false })?.ino === statSync('/').ino;
  } finally {
    closeSync(fd);
  }
}

import { statSync, type Stats } from 'node:fs';
import { readdir, readFile, readlink, stat } from 'node:fs/promises';
import { setImmediate as otherWork } from 'node:timers/promises';
import { errnoOf } from '../errors.ts';

/** More are not looked at: so many descriptors take longer than the look is worth. */
const mostLookedAt = 20_000;
/** Then it is the turn of others. */
const inOneTurn = 200;

/**
 * What files take that have no name any more, but are held open or mapped by runs of a user: `du` does not see
 * them. Root finds these by the user's uid. An ordinary server shares its uid with them, and tells them apart
 * by their user namespace; where they have none of their own, nothing is found.
 */
export async function unlinkedBytes(uid: number | null, folder: string): Promise<number> {
  const { dev } = await stat(folder);
  const sizes = new Map<string, number>();
  let looks = 0;
  for (const pid of await processesOf(uid)) {
    for (const name of await listed(`/proc/${pid}/fd`)) {
      if (++looks > mostLookedAt) return sum(sizes);
      if (looks % inOneTurn === 0) await otherWork();
      const stats = lookAt(`/proc/${pid}/fd/${name}`);
      if (stats?.isFile() && stats.nlink === 0 && stats.dev === dev)
        sizes.set(`${stats.ino}`, stats.blocks * 512);
    }
    for (const [inode, length] of await mappings(pid, dev)) if (!sizes.has(inode)) sizes.set(inode, length);
  }
  return sum(sizes);
}

const sum = (sizes: ReadonlyMap<string, number>): number =>
  sizes.values().reduce((all, size) => all + size, 0);

async function processesOf(uid: number | null): Promise<string[]> {
  const wanted = uid ?? process.getuid?.();
  const own = uid === null ? await readlink('/proc/self/ns/user') : null;
  const found: string[] = [];
  let looks = 0;
  for (const pid of await listed('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    if (++looks % inOneTurn === 0) await otherWork();
    if (lookAt(`/proc/${pid}`)?.uid !== wanted) continue;
    if (own === null || (await readlink(`/proc/${pid}/ns/user`).catch(gone)) !== own) found.push(pid);
  }
  return found;
}

/** No disk is asked, so that it takes microseconds; with a promise for each, all of them took more than twice as long. */
function lookAt(path: string): Stats | null {
  try {
    return statSync(path);
  } catch (error) {
    return gone(error);
  }
}

/** Mapped files without a name, by their inode; how much of each is mapped stands for its size. */
async function mappings(pid: string, dev: number): Promise<Map<string, number>> {
  const text = await readFile(`/proc/${pid}/maps`, 'latin1').catch(gone);
  const found = new Map<string, number>();
  for (const line of (text ?? '').split('\n')) {
    const match = /^([0-9a-f]+)-([0-9a-f]+) \S+ \S+ ([0-9a-f]+):([0-9a-f]+) (\d+) .* \(deleted\)$/.exec(line);
    if (match === null || deviceOf(match[3]!, match[4]!) !== dev) continue;
    const length = Number.parseInt(match[2]!, 16) - Number.parseInt(match[1]!, 16);
    found.set(match[5]!, (found.get(match[5]!) ?? 0) + length);
  }
  return found;
}

/** As `stat` gives it: the minor number stands around the major one. */
function deviceOf(major: string, minor: string): number {
  const [high, low] = [Number.parseInt(major, 16), Number.parseInt(minor, 16)];
  return (low & 0xff) + high * 0x100 + (low >>> 8) * 0x100000;
}

async function listed(path: string): Promise<string[]> {
  return (await readdir(path).catch(gone)) ?? [];
}

/** Processes end while they are looked at, and those of others are closed to us. */
function gone(error: unknown): null {
  if (['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes(errnoOf(error) ?? '')) return null;
  throw error;
}

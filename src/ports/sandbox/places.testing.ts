import { chmod, chown, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makePackageFolders } from './environments.ts';
import type { Sandbox, Workspace } from './sandbox.ts';

/**
 * The first of some uids that no other process of the tests has: a run without walls that kills all it can would end the
 * containers and sandboxes of test files beside it, and processes of one uid are counted together. A contract has dozens
 * of users, and test files that start together have neighbouring pids.
 */
const firstUid = 230_000 + (process.pid % 15_000) * 128;

type TestPlaces = Awaited<ReturnType<typeof testPlaces>>;

/** A sandbox with the folders of its users, which go with it. */
export const joinPlaces = (sandbox: Sandbox, places: TestPlaces) => ({
  sandbox,
  place: (user: string) => places.place(user),
  async [Symbol.asyncDispose]() {
    await sandbox[Symbol.asyncDispose]();
    await places[Symbol.asyncDispose]();
  },
});

/** Folders of users for tests, in a folder that only the server can look into unless its mode says else. */
export async function testPlaces(
  mode = 0o700,
): Promise<{ place(user: string): Promise<Workspace> } & AsyncDisposable> {
  const folder = await mkdtemp(join(tmpdir(), 'workcrate-places-'));
  await chmod(folder, mode);
  const places = new Map<string, Promise<Workspace>>();
  const root = process.getuid?.() === 0;
  return {
    async place(user) {
      const made =
        places.get(user) ??
        makePlace(join(folder, String(places.size + 1)), root ? firstUid + places.size : null);
      places.set(user, made);
      return made;
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

async function makePlace(folder: string, uid: number | null): Promise<Workspace> {
  const [workspace, artifacts, packages] = ['workspace', 'artifacts', 'packages'].map((name) =>
    join(folder, name),
  ) as [string, string, string];
  const place = { uid, workspace, artifacts, packages };
  for (const path of [place.workspace, place.artifacts]) {
    await mkdir(path, { recursive: true, mode: 0o755 });
    if (uid !== null) await chown(path, uid, uid);
    await chmod(path, 0o700);
  }
  makePackageFolders(packages, uid);
  return place;
}

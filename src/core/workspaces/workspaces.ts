/**
 * The folders of every user that outlast runs, and the uid that owns them. A number stands for the user in paths, so
 * no name of a user is part of one. It runs no code and opens no file in these folders: `ports/sandbox/` and `platform/paths/` do.
 */
import { chmodSync, chownSync, lstatSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Clock } from '../../platform/clock.ts';
import { makeFolderAndParents } from '../../platform/data-folder/data-folder.ts';
import type { Database, Queries } from '../../ports/database/database.ts';
import { getErrno, WorkcrateError } from '../../platform/errors.ts';
import { makePackageFolders } from '../../ports/sandbox/environments.ts';
import type { Workspace } from '../../ports/sandbox/sandbox.ts';

export interface WorkspacesOptions {
  readonly database: Database;
  /** The folder in which every user gets a folder. */
  readonly folder: string;
  /** The uids that runs may have where the server is root, else null. */
  readonly uids: { readonly from: number; readonly to: number } | null;
  readonly clock: Clock;
}

export type Workspaces = ReturnType<typeof createWorkspaces>;

/** Where the /workspace and /artifacts of each user are, and under which uid. No name of a user is part of a path. */
export function createWorkspaces(options: WorkspacesOptions) {
  const known = new Map<string, MadeWorkspace>();
  return {
    /** The user's folders, made where they are missing: another object where an operator has removed the old ones. */
    async of(user: string): Promise<Workspace> {
      const found = known.get(user);
      if (found !== undefined && areFoldersIntact(found)) return found.place;
      const made = await makeWorkspace(options, user);
      known.set(user, made);
      return made.place;
    },
    /** The user's folders, or null for somebody who never had any. */
    async find(user: string): Promise<Workspace | null> {
      const number = await findWorkspaceNumber(options, user);
      return number === null ? null : checkNoLinks(toWorkspace(options, number));
    },
  };
}

async function findWorkspaceNumber({ database }: WorkspacesOptions, user: string): Promise<number | null> {
  const [row] = await database.query<{ number: number }>('SELECT number FROM places WHERE owner = ?', user);
  return row?.number ?? null;
}

/** A SELECT of everybody who has folders, for one statement with other tables. */
export const workspaceOwnersSql = 'SELECT owner FROM places';

/** The number of every user's folders. */
export async function listWorkspaces(database: Queries) {
  return database.query<{ owner: string; number: number }>('SELECT owner, number FROM places');
}

/** Everybody can have packages. */
type UserWorkspace = Workspace & { readonly packages: string };

/** Folders as they were made or found. */
interface MadeWorkspace {
  readonly place: UserWorkspace;
  readonly inodes: readonly number[];
}

async function makeWorkspace(options: WorkspacesOptions, user: string): Promise<MadeWorkspace> {
  const place = toWorkspace(
    options,
    (await findWorkspaceNumber(options, user)) ?? (await takeWorkspaceNumber(options, user)),
  );
  const { uid, workspace, artifacts, packages } = checkNoLinks(place);
  makeUserFolders(place);
  makePackageFolders(packages, uid);
  return { place, inodes: [workspace, artifacts, packages].map((folder) => statSync(folder).ino) };
}

function makeUserFolders({ uid, workspace, artifacts }: Workspace): void {
  for (const folder of [workspace, artifacts]) {
    makeFolderAndParents(folder, 0o700);
    if (uid !== null) giveFolderTo(folder, uid);
    chmodSync(folder, 0o700);
  }
}

/** Empty folders of the same user in a folder of the server's, such as for a replay. Whoever has them made removes them. */
export function makeWorkspaceBeside(beside: Workspace, folder: string): Workspace {
  const { uid, packages } = beside;
  const [workspace, artifacts] = [join(folder, 'workspace'), join(folder, 'artifacts')];
  const place = { uid, workspace, artifacts, packages, beside };
  makeUserFolders(place);
  return place;
}

/**
 * Throws where one of them is a link: what it leads to would be shown as the user's own, and be given to the user's uid.
 * Only somebody who may write to the data folder can have put it there; the folder of all users itself may be one.
 */
function checkNoLinks<T extends Workspace>(place: T): T {
  const { workspace, artifacts, packages } = place;
  for (const folder of [dirname(workspace), workspace, artifacts, packages ?? workspace])
    if (lstatSync(folder, { throwIfNoEntry: false })?.isSymbolicLink() === true)
      throw new WorkcrateError(
        'path_refused',
        `The server's own folder ${folder.split(/[/\\]/).slice(-3).join('/')} is a link, which is not followed. The operator can mount the other disk there, or move the data folder as a whole (--data).`,
        { details: { kind: 'link' } },
      );
  return place;
}

/**
 * Whether they are the folders that were made, and not others that somebody put there since. Opens them up: a run may
 * have closed its own folder to itself, and to every run after it.
 */
function areFoldersIntact({ place, inodes }: MadeWorkspace): boolean {
  const { uid, workspace, artifacts, packages } = place;
  return [workspace, artifacts, packages].every((folder, at) => {
    const stats = lstatSync(folder, { throwIfNoEntry: false });
    // A link may have got the number of the folder that it replaces.
    if (stats?.isDirectory() !== true || stats.ino !== inodes[at]) return false;
    if (folder === packages) return true;
    if (uid !== null && stats.uid !== uid) return false;
    if ((stats.mode & 0o700) !== 0o700) chmodSync(folder, 0o700);
    return true;
  });
}

/**
 * Whether runs of this place can read a file of it themselves. One that they cannot was not made by them: where the
 * kernel lets everybody make hard links (`fs.protected_hardlinks` is 0), code without walls may have linked a file of
 * somebody else, and the server, as root, would read it for them.
 */
export function canRunsRead(
  { uid }: Pick<Workspace, 'uid'>,
  stats: { uid: number | bigint; mode: number | bigint },
): boolean {
  return uid === null || Number(stats.uid) === uid || (Number(stats.mode) & 0o004) !== 0;
}

/** By its path: the folder above belongs to the server alone, so nobody can have put a link here. */
export function giveFolderTo(folder: string, uid: number): void {
  try {
    chownSync(folder, uid, uid);
  } catch (cause) {
    throw new WorkcrateError(
      'sandbox_unavailable',
      `No folder can be given to user id ${uid} here (${getErrno(cause) ?? 'failed'}), as in a container that maps no such id. Set ids that exist with --sandbox-uids.`,
      { cause },
    );
  }
}

/** Every attempt that fails is one at which somebody else has got a number. */
const maxNumberAttempts = 1000;

/** The next number that is free. Of several who try the same one at once, one gets it. */
async function takeWorkspaceNumber(options: WorkspacesOptions, user: string): Promise<number> {
  const { database, clock } = options;
  for (let attempt = 1; attempt <= maxNumberAttempts; attempt++) {
    const [taken] = await database.query<{ number: number }>(
      `INSERT INTO places (owner, number, created_at)
       SELECT ?, COALESCE(MAX(number), 0) + 1, CAST(? AS BIGINT) FROM places WHERE true
       ON CONFLICT DO NOTHING RETURNING number`,
      user,
      clock(),
    );
    // Nothing came of it where another had the number, or where this user has one by now.
    const number = taken?.number ?? (await findWorkspaceNumber(options, user));
    if (number !== null) return number;
  }
  throw new WorkcrateError('database_failed', 'Too many users came at once. Try again.');
}

function toWorkspace({ folder, uids }: WorkspacesOptions, number: number): UserWorkspace {
  const uid = uids === null ? null : uids.from + number - 1;
  if (uids !== null && uid! > uids.to)
    throw new WorkcrateError(
      'sandbox_unavailable',
      `There are more users than user ids from ${uids.from} to ${uids.to}. Allow more with --sandbox-uids.`,
    );
  const home = join(folder, String(number));
  return {
    uid,
    workspace: join(home, 'workspace'),
    artifacts: join(home, 'artifacts'),
    packages: join(home, 'packages'),
  };
}

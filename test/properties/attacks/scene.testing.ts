import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Workspace } from '../../../src/ports/sandbox/sandbox.ts';
import { openEars, type Ears } from './ears.testing.ts';
import { alarms } from './alarms.testing.ts';

export type User = 'mallory' | 'bob';

/** What an attacker would like to have, outside of every wall. Each is a word that no output may hold. */
export interface Secrets {
  readonly data: string;
  readonly home: string;
  /** In bob's workspace. Bob himself may read it. */
  readonly bob: string;
  readonly neighbour: string;
  readonly environment: string | null;
  readonly key: string | null;
}

/** A machine with things on it that must not be read, changed, reached or stopped. */
export interface Scene extends AsyncDisposable {
  /** Processes of an attack bear it in their names, so that those that are left are found. */
  readonly nonce: string;
  readonly folder: string;
  readonly places: Readonly<Record<User, Workspace>>;
  readonly secrets: Secrets;
  /** The files that hold secrets, by what they are. */
  readonly files: { readonly data: string; readonly home: string; readonly bob: string };
  /** Folders that everybody may write to, as far as permissions go. */
  readonly open: { readonly tools: string; readonly skills: string; readonly outside: string };
  readonly ears: Ears;
  /** A process of the same uid as Mallory's runs, with a secret in its environment. */
  readonly neighbour: { readonly pid: number; readonly name: string };
  readonly namespaces: Readonly<Record<string, string>>;
  /** What happened to the machine since it was asked last, or null. */
  alarm(): string | null;
}

/** `lane` tells it from others that are set at the same time. */
export async function setScene(lane: number): Promise<Scene> {
  const nonce = `wc${randomBytes(4).toString('hex')}`;
  const folder = mkdtempSync(join(process.getuid?.() === 0 ? '/tmp' : tmpdir(), 'workcrate-attacks-'));
  chmodSync(folder, 0o755);
  const secrets = newSecrets();
  const firstUid = 210_000 + 10 * lane;
  const places = {
    mallory: placeFor(folder, 'mallory', firstUid),
    bob: placeFor(folder, 'bob', firstUid + 1),
  };
  const files = {
    data: put(join(folder, 'data', 'workcrate.db'), secrets.data),
    home: put(join(folder, 'home', '.ssh', 'id_ed25519'), secrets.home),
    bob: put(join(places.bob.workspace, 'private.txt'), secrets.bob, places.bob.uid),
  };
  const open = {
    tools: openFolder(folder, 'tools'),
    skills: openFolder(folder, 'skills'),
    outside: openFolder(folder, 'outside'),
  };
  const ears = await openEars(open.outside, nonce);
  const neighbour = startNeighbour(places.mallory.uid, secrets.neighbour);
  const name = 'an-honest-neighbour';
  const watched = [join(folder, 'data'), join(folder, 'home'), ...Object.values(open), files.bob];
  return {
    nonce,
    folder,
    places,
    secrets,
    files,
    open,
    ears,
    neighbour: { pid: neighbour.pid!, name },
    namespaces: ownNamespaces(),
    alarm: alarms({ ears, watched, neighbour }),
    async [Symbol.asyncDispose]() {
      neighbour.kill('SIGKILL');
      await ears[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The round is started with two of them, see launch.testing.ts. */
function newSecrets(): Secrets {
  const word = (): string => `canary-${randomBytes(12).toString('hex')}`;
  return {
    data: word(),
    home: word(),
    bob: word(),
    neighbour: word(),
    environment: process.env['WORKCRATE_ATTACKS_SECRET'] ?? null,
    key: process.env['WORKCRATE_ATTACKS_KEY'] ?? null,
  };
}

function placeFor(folder: string, user: User, uid: number): Workspace {
  const own = process.getuid?.() === 0 ? uid : null;
  const [workspace, artifacts] = ['workspace', 'artifacts'].map((name) => {
    const path = join(folder, 'places', user, name);
    mkdirSync(path, { recursive: true });
    chmodSync(path, 0o700);
    if (own !== null) chownSync(path, own, own);
    return path;
  }) as [string, string];
  return { uid: own, workspace, artifacts, packages: null };
}

/** Open to all readers: only a wall keeps it. */
function put(path: string, text: string, uid: number | null = null): string {
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, text, { mode: 0o644 });
  if (uid !== null) chownSync(path, uid, uid);
  return path;
}

function openFolder(folder: string, name: string): string {
  const path = join(folder, name);
  mkdirSync(path);
  writeFileSync(join(path, 'readme.txt'), 'unchanged');
  for (const open of [path, join(path, 'readme.txt')]) chmodSync(open, 0o777);
  return path;
}

/** Ends with this process, since its input does. */
function startNeighbour(uid: number | null, secret: string): ChildProcess {
  return spawn('/bin/cat', [], {
    argv0: 'an-honest-neighbour',
    stdio: ['pipe', 'ignore', 'ignore'],
    cwd: '/',
    env: { NEIGHBOUR: secret },
    ...(uid === null ? {} : { uid, gid: uid }),
  });
}

function ownNamespaces(): Record<string, string> {
  const kinds = ['cgroup', 'ipc', 'mnt', 'net', 'pid', 'user', 'uts'];
  return Object.fromEntries(kinds.map((kind) => [kind, readlinkSync(`/proc/self/ns/${kind}`)]));
}

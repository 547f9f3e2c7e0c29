import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmod, copyFile, cp, link, mkdtemp, rm, stat } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { getErrno } from '../../../src/platform/errors.ts';
import type { EnforcedClaims, Sandbox } from '../../../src/ports/sandbox/sandbox.ts';
import { syscalls } from '../../../src/ports/sandbox/seccomp/syscalls.ts';
import type { Verdict } from './perform.testing.ts';
import type { Line, Task } from './round.testing.ts';

/** Where the sources and the Node of a round are: of this checkout, or a copy that an ordinary user can read. */
export interface Copy extends AsyncDisposable {
  readonly folder: string;
  readonly node: string;
  /** Who the rounds run as, or null for whoever this is. */
  readonly uid: number | null;
}

export interface Results {
  readonly kind: Sandbox['kind'];
  readonly holds: EnforcedClaims;
  readonly verdicts: ReadonlyMap<string, Verdict>;
  readonly ms: ReadonlyMap<string, number>;
}

const mostMs = 400_000;
const ordinaryUid = 210_900;
const checkout = fileURLToPath(new URL('../../..', import.meta.url));

export function thisCopy(): Copy {
  return { folder: checkout, node: process.execPath, uid: null, [Symbol.asyncDispose]: async () => {} };
}

/** The checkout may be closed to others, and so may be its Node. */
export async function ordinaryCopy(): Promise<Copy> {
  const folder = await mkdtemp('/tmp/workcrate-ordinary-');
  await chmod(folder, 0o755);
  // Of the packages only the one that the sandbox itself imports.
  for (const part of ['src', 'test/properties/attacks', 'package.json'])
    await cp(join(checkout, part), join(folder, part), { recursive: true });
  const node = join(folder, 'node');
  await linkOrCopy(process.execPath, node);
  return {
    folder,
    node,
    uid: ordinaryUid,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

/** A second name is enough where the file itself is open to all, and on the same file system. */
async function linkOrCopy(from: string, to: string): Promise<void> {
  const isOpen = ((await stat(from)).mode & 0o005) === 0o005;
  if (isOpen && (await link(from, to).catch(getErrno)) === undefined) return;
  await copyFile(from, to);
  await chmod(to, 0o755);
}

/** Plays all attacks on a backend, in some processes side by side. */
export async function playAttacks(copy: Copy, task: Omit<Task, 'lane'>): Promise<Results> {
  const lanes = Array.from({ length: task.lanes }, (_, lane) => playLane(copy, { ...task, lane }));
  const lines = (await Promise.all(lanes)).flat();
  const played = lines.filter((line) => 'attack' in line);
  const { holds } = lines.find((line) => 'holds' in line)!;
  return {
    kind: task.kind,
    holds,
    verdicts: new Map(played.map(({ attack, verdict }) => [attack, verdict])),
    ms: new Map(played.map(({ attack, ms }) => [attack, ms])),
  };
}

/**
 * Leaves a folder of the host open, as careless programs do that start servers. Gives the process a session
 * keyring with a secret in it, where there are keyrings. Goes on as Node.
 */
const withKey = `
import ctypes, os, sys
libc = ctypes.CDLL(None)
secret = os.environ.pop('KEY')
for number in (9, 300): os.dup2(os.open('/', os.O_RDONLY), number)
[add_key, keyctl] = [int(number) for number in sys.argv[1:3]]
if libc.syscall(keyctl, 1, None) > 0 and libc.syscall(add_key, b'user', b'workcrate-attacks', secret.encode(), len(secret), -3) > 0:
    os.environ['WORKCRATE_ATTACKS_KEY'] = secret
os.execv(sys.argv[3], sys.argv[3:])
`;

async function playLane({ folder, node, uid }: Copy, task: Task): Promise<Line[]> {
  const column = process.arch === 'x64' ? 0 : 1;
  const numbers = [syscalls.add_key[column], syscalls.keyctl[column]].map(String);
  const round = join(folder, 'test/properties/attacks/round.testing.ts');
  const command = ['/usr/bin/python3', '-c', withKey, ...numbers, node, round, JSON.stringify(task)];
  const drop =
    uid === null ? [] : ['setpriv', '--reuid', `${uid}`, '--regid', `${uid}`, '--clear-groups', '--'];
  const [file, ...args] = [...drop, ...command];
  const secret = (): string => `canary-${randomBytes(12).toString('hex')}`;
  const child = spawn(file!, args, {
    cwd: '/',
    env: { PATH: '/usr/bin:/bin:/usr/sbin:/sbin', WORKCRATE_ATTACKS_SECRET: secret(), KEY: secret() },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: mostMs,
    killSignal: 'SIGKILL',
  });
  const ended = once(child, 'close');
  const complaints = text(child.stderr);
  const lines: Line[] = [];
  for await (const line of createInterface({ input: child.stdout })) lines.push(JSON.parse(line) as Line);
  const [code] = (await ended) as [number | null];
  if (code !== 0) throw new Error(`the round of ${task.kind} ended with ${code}: ${await complaints}`);
  return lines;
}

/**
 * A challenge by which a client proves that it sees the same files as this process: it has to say what is in a file
 * that only its own user can read. It opens no file of a project: `direct.ts` does, after the proof.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { lstatSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, sep } from 'node:path';
import type { Clock } from '../../../platform/clock.ts';
import { BoundedMap } from '../../../platform/concurrency/bounded-map.ts';
import { getErrno, WorkcrateError } from '../../../platform/errors.ts';
import { quoteForShell } from './commands.ts';

interface Challenge {
  readonly file: string;
  readonly secret: string;
  readonly until: number;
}

const challengeMs = 10 * 60_000;
const provenMs = 60 * 60_000;
const maxOpenChallenges = 100;
const maxProven = 1000;

const challengePrefix = 'workcrate-proof-';

export interface FilesystemChallengesOptions {
  readonly clock: Clock;
  /** Where the files of challenges are. */
  readonly folder?: string;
  /** Projects in these folders need no proof: somebody named them, or started the server there. */
  readonly trusted?: readonly string[];
}

export type FilesystemChallenges = ReturnType<typeof createFilesystemChallenges>;

/**
 * Whether a client sees the files that this process sees: it has to say what is in a file that only its own user
 * can read. A pipe alone proves nothing, since its other end may be a container or another machine.
 */
export function createFilesystemChallenges(options: FilesystemChallengesOptions) {
  const { clock, folder = tmpdir(), trusted = [] } = options;
  const challenges = new BoundedMap<string, Challenge>({
    mostEntries: maxOpenChallenges,
    onEvict: removeChallengeFile,
  });
  const proven = new BoundedMap<string, number>({ mostEntries: maxProven });
  const keyOf = (user: string, root: string): string => JSON.stringify([user, root]);

  function drop(key: string): void {
    const challenge = challenges.get(key);
    if (challenge) removeChallengeFile(challenge);
    challenges.delete(key);
  }

  function make(key: string): Challenge {
    drop(key);
    removeOldChallenges(folder, clock() - challengeMs);
    const file = join(folder, `${challengePrefix}${randomBytes(12).toString('hex')}`);
    const secret = randomBytes(24).toString('base64url');
    writeFileSync(file, secret, { flag: 'wx', mode: 0o600 });
    const challenge = { file, secret, until: clock() + challengeMs };
    challenges.set(key, challenge);
    return challenge;
  }

  return {
    isProven: (user: string, root: string): boolean =>
      (proven.get(keyOf(user, root)) ?? 0) > clock() || trusted.some((above) => isWithin(root, above)),

    /** What to run: its output is the proof. */
    challenge(user: string, root: string): { command: string; until: number } {
      const key = keyOf(user, root);
      const open = challenges.get(key);
      const { file, until } = open && open.until > clock() ? open : make(key);
      return { command: `cat ${quoteForShell(file)}`, until };
    },

    /** Takes a proof, once. A wrong one ends the challenge, so nobody can try for long. */
    prove(user: string, root: string, proof: string): void {
      const key = keyOf(user, root);
      const open = challenges.get(key);
      drop(key);
      if (!open || open.until <= clock() || !isSameSecret(open.secret, proof.trim())) throw wrongProofError();
      proven.set(key, clock() + provenMs);
    },

    [Symbol.dispose]() {
      challenges.evictAll();
    },
  };
}

/** Links are followed first: one in a trusted folder does not make what it leads to a part of it. */
function isWithin(root: string, above: string): boolean {
  try {
    const [below, folder] = [realpathSync(root), realpathSync(above)];
    return below === folder || below.startsWith(folder.endsWith(sep) ? folder : folder + sep);
  } catch (error) {
    if (getErrno(error) === null) throw error;
    return false;
  }
}

const removeChallengeFile = ({ file }: Challenge): void => rmSync(file, { force: true });

/** What a process that was killed left behind. */
function removeOldChallenges(folder: string, before: number): void {
  for (const name of readdirSync(folder).filter((each) => each.startsWith(challengePrefix))) {
    const file = join(folder, name);
    const stats = lstatSync(file, { throwIfNoEntry: false });
    if (stats?.isFile() && stats.uid === process.geteuid?.() && stats.mtimeMs < before)
      rmSync(file, { force: true });
  }
}

function isSameSecret(secret: string, given: string): boolean {
  const [a, b] = [Buffer.from(secret), Buffer.from(given)];
  return a.length === b.length && timingSafeEqual(a, b);
}

const wrongProofError = (): WorkcrateError =>
  new WorkcrateError(
    'client_refused',
    'The proof is not what the server wrote, or it is too old. Call again with via: "direct" for a new one.',
  );

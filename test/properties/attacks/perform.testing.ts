import { execFile } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { promisify } from 'node:util';
import { isWorkcrateError } from '../../../src/platform/errors.ts';
import {
  createRunClock,
  type RunTools,
  type SandboxRun,
  type Sandbox,
} from '../../../src/ports/sandbox/sandbox.ts';
import {
  composed,
  NotTried,
  told,
  usualTimeoutMs,
  type Attack,
  type Code,
  type Played,
  type Seen,
  type Step,
} from './attack.testing.ts';
import type { Scene } from './scene.testing.ts';
import { endSurvivors, survivors } from './survivors.testing.ts';

/** How an attack went. `failed` is one that could not even be tried, which is a fault of the suite. */
export type Verdict =
  | { readonly state: 'held' }
  | { readonly state: 'through'; readonly how: string }
  | { readonly state: 'failed'; readonly how: string }
  | { readonly state: 'not run'; readonly why: string };

export interface Stage {
  readonly scene: Scene;
  readonly sandbox: Sandbox;
}

const mostKept = 256 * 1024;
/** A container costs some twenty times as much as a fork. The scorecard says so. */
export const mostInContainers = 15;

/** A machine that is busy may take longer to begin with an attack than the attack is given. */
const timesLonger = [1, 3, 9];

/**
 * Plays an attack with all that belongs to it, and judges by what it says and by what can be seen from outside.
 * What could not be tried is tried again with more time. What got through got through, but for a wall that is watched
 * rather than enforced: a busy machine looks late, so the attack stays longer, and is through if nobody comes then either.
 */
export async function perform(attack: Attack, stage: Stage): Promise<Verdict> {
  let verdict: Verdict | null = null;
  for (const times of timesLonger) {
    const timeoutMs = (attack.timeoutMs ?? usualTimeoutMs) * times;
    verdict = await performOnce({ ...attack, timeoutMs }, stage);
    if (verdict.state !== 'failed' && !(verdict.state === 'through' && isWatched(attack, stage))) break;
  }
  return verdict!;
}

/** Folders are looked at every so often; nothing stops a write to them. */
const isWatched = ({ wall }: Attack, { sandbox }: Stage): boolean =>
  wall === 'disk' && sandbox.holds.disk === true;

async function performOnce(attack: Attack, stage: Stage): Promise<Verdict> {
  const why = reasonNotToRun(attack, stage);
  if (why !== null) return { state: 'not run', why };
  try {
    const how = await played(attack, stage);
    return how === null ? { state: 'held' } : { state: 'through', how };
  } catch (error) {
    const how = error instanceof NotTried ? `not tried: ${error.message}` : String((error as Error).stack);
    return { state: 'failed', how };
  } finally {
    await endSurvivors(stage.scene.nonce);
    await cleaned(stage);
  }
}

function reasonNotToRun({ withoutWalls, lacks }: Attack, { sandbox, scene }: Stage): string | null {
  if (sandbox.kind === 'subprocess' && typeof withoutWalls === 'object') return withoutWalls.notRun;
  return lacks?.(scene) ?? null;
}

async function played(attack: Attack, stage: Stage): Promise<string | null> {
  const { scene } = stage;
  const words =
    attack.repeat === undefined
      ? await playedOnce(attack, stage)
      : [await repeated(attack, attack.repeat, stage)];
  const left = await survivors(scene.nonce);
  const alive = left.length === 0 ? null : `${left.length} processes are left after the end`;
  const found = [...words, scene.alarm(), alive].filter((word) => word !== null);
  return found.length === 0 ? null : found.join('; ');
}

async function playedOnce(attack: Attack, stage: Stage): Promise<(string | null)[]> {
  const before = attack.before === undefined ? null : await play(attack.before, stage);
  const beside = attack.beside === undefined ? null : play(attack.beside, stage);
  const watch = attack.watch?.(stage.scene);
  const run = await play(attack, stage);
  const watched = (await watch?.stop()) ?? null;
  const seen: Seen = {
    run,
    before,
    beside: await beside,
    after: attack.after === undefined ? null : await play(attack.after, stage),
    timeoutMs: attack.timeoutMs ?? usualTimeoutMs,
    ...stage,
  };
  return [await (attack.judge ?? told)(seen), watched, leaked(attack, seen)];
}

/** No output may hold a secret, whatever the attack was after. */
function leaked(attack: Attack, { run, before, beside, after, scene }: Seen): string | null {
  const parts = [
    { step: attack, of: run },
    { step: attack.before, of: before },
    { step: attack.beside, of: beside },
    { step: attack.after, of: after },
  ];
  const known = parts.flatMap(({ step, of }) =>
    Object.entries(scene.secrets)
      .filter(([what, secret]) => secret !== null && !(what === 'bob' && step?.user === 'bob'))
      .filter(([, secret]) => `${of?.stdout}${of?.stderr}`.includes(secret as string))
      .map(([what]) => `it read the secret of ${what}`),
  );
  return known.length === 0 ? null : [...new Set(known)].join('; ');
}

/** The order does not matter, only that some go on while others are killed. Gives what one of them got. */
async function repeated(attack: Attack, how: NonNullable<Attack['repeat']>, stage: Stage) {
  const times = stage.sandbox.kind === 'docker' ? Math.min(how.times, mostInContainers) : how.times;
  let left = times;
  let found: string | null = null;
  let tried = 0;
  let untried: unknown = null;
  const some = async (): Promise<void> => {
    while (left-- > 0 && found === null) {
      const cancel = how.cancelWithinMs === undefined ? {} : { cancelMs: randomInt(how.cancelWithinMs) };
      const run = await play({ ...attack, ...cancel }, stage).catch(nullIfNotBegun);
      if (run === null) continue;
      try {
        const timeoutMs = attack.timeoutMs ?? usualTimeoutMs;
        found ??= await attack.judge!({ run, before: null, beside: null, after: null, timeoutMs, ...stage });
        tried++;
      } catch (error) {
        untried ??= error;
      }
    }
  };
  await Promise.all(Array.from({ length: how.atOnce }, some));
  // One of many that came too late to try says nothing, as long as the others did.
  if (found === null && untried !== null && (!(untried instanceof NotTried) || tried < times / 4))
    throw untried;
  return found;
}

/** Cancelled before it had a place to run in: the port says that nothing has run then. */
function nullIfNotBegun(error: unknown): null {
  if (isWorkcrateError(error, 'cancelled')) return null;
  throw error;
}

/** Runs one step to its end. */
async function play(step: Step, stage: Stage): Promise<Played> {
  if (step.nextCells !== undefined) return playCells(step, step.nextCells, stage);
  const { scene, sandbox } = stage;
  const user = step.user ?? 'mallory';
  const run = await sandbox.start({
    id: `exec_${randomBytes(6).toString('hex')}`,
    user,
    place: scene.places[user],
    language: step.language,
    code: composed(step, scene),
    workingDir: '/workspace',
    stdin: step.stdin ?? '',
    timeoutMs: step.timeoutMs ?? usualTimeoutMs,
    signal: step.cancelMs === undefined ? new AbortController().signal : AbortSignal.timeout(step.cancelMs),
    ...(step.mayCallTools && { tools: silentTools(step.timeoutMs ?? usualTimeoutMs) }),
  });
  return finished(run);
}

/** Calls of tools that nobody answers. */
const silentTools = (mostMs: number): RunTools => ({
  files: new Map([['readme.txt', 'nothing']]),
  clock: createRunClock(mostMs),
  accept: (connection) => void connection.on('error', () => {}).resume(),
});

/** The outputs of all cells together, and the end of the first that did not end well, or of the last. */
async function playCells(step: Step, next: readonly Code[], { scene, sandbox }: Stage): Promise<Played> {
  const user = step.user ?? 'mallory';
  const session = await sandbox.startSession({
    id: `sess_${randomBytes(6).toString('hex')}`,
    user,
    place: scene.places[user],
    language: step.language,
    workingDir: '/workspace',
  });
  const played: Played[] = [];
  try {
    for (const code of [step.code, ...next]) {
      const run = await session.run({
        code: composed({ ...step, code }, scene),
        stdin: step.stdin ?? '',
        timeoutMs: step.timeoutMs ?? usualTimeoutMs,
        signal:
          step.cancelMs === undefined ? new AbortController().signal : AbortSignal.timeout(step.cancelMs),
      });
      played.push(await finished(run));
      if ((await run.ended).state === 'lost') break;
    }
  } catch (error) {
    // It may end between two cells.
    if (!isWorkcrateError(error, 'session_ended')) throw error;
  } finally {
    await session.close();
  }
  const end = played.find((one) => one.end.exitCode !== 0)?.end ?? (await session.ended);
  return {
    stdout: played.map(({ stdout }) => stdout).join(''),
    stderr: played.map(({ stderr }) => stderr).join(''),
    bytes: played.reduce((sum, { bytes }) => sum + bytes, 0),
    end: played.length === next.length + 1 ? end : { ...(await session.ended), durationMs: end.durationMs },
  };
}

async function finished(run: SandboxRun): Promise<Played> {
  const [out, err, end] = await Promise.all([gathered(run.stdout), gathered(run.stderr), run.ended]);
  return { stdout: out.text, stderr: err.text, bytes: out.bytes + err.bytes, end };
}

async function gathered(output: AsyncIterable<Uint8Array>): Promise<{ text: string; bytes: number }> {
  const kept: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of output) {
    if (bytes < mostKept) kept.push(Uint8Array.from(chunk));
    bytes += chunk.length;
  }
  return { text: Buffer.concat(kept).toString('latin1'), bytes };
}

/** Whatever was made, however it is called. Nothing of it runs any more. */
async function cleaned({ scene }: Stage): Promise<void> {
  const { workspace, artifacts } = scene.places.mallory;
  if ([workspace, artifacts].every((folder) => readdirSync(folder).length === 0)) return;
  const code = 'chmod -R u+rwx -- "$@" 2> /dev/null; find "$@" -mindepth 1 -delete';
  await promisify(execFile)('/bin/sh', ['-c', code, 'sh', workspace, artifacts]);
}

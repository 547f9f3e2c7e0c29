import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough, type Readable } from 'node:stream';
import { WorkcrateError } from '../../platform/errors.ts';
import {
  noReports,
  type CellEnd,
  type CellRequest,
  type RunEnd,
  type SandboxSession,
  type SessionRequest,
} from '../../ports/sandbox/sandbox.ts';

const cellMark = '\u0001CELL ENDS\u0001';

/** A real Bash that keeps its state, without any wall. Of a Bash there are no checkpoints. */
export function startPlainSession(
  { place, workingDir, language, id }: SessionRequest,
  tmp: string,
): SandboxSession {
  const [, , ...below] = workingDir.split('/');
  const child = spawn('bash', ['--norc'], {
    cwd: join(place.workspace, ...below),
    env: { PATH: process.env['PATH'], WORKSPACE: place.workspace, ARTIFACTS: place.artifacts },
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  child.stdin.on('error', () => {});
  const begun = performance.now();
  const since = (start: number): number => performance.now() - start;
  const ended = new Promise<RunEnd>((resolve) => {
    child.once('exit', (exitCode, signal) =>
      resolve({ reason: signal === null ? 'exit' : 'signal', exitCode, signal, durationMs: since(begun) }),
    );
  });
  const signalAll = (signal: NodeJS.Signals): void => {
    try {
      process.kill(-child.pid!, signal);
    } catch {
      // It is gone.
    }
  };
  let isOver = false;
  void ended.then(() => (isOver = true));
  let cells = 0;
  let last: Promise<unknown> = Promise.resolve();

  async function runOne({ code, stdin, timeoutMs, signal }: CellRequest) {
    if (isOver) throw new WorkcrateError('session_ended', 'The session has ended.');
    const path = join(tmp, `${id}-${++cells}`);
    writeFileSync(`${path}.sh`, code);
    writeFileSync(`${path}.in`, stdin);
    const [out, err] = [readToMark(child.stdout), readToMark(child.stderr)];
    const start = performance.now();
    let stopped: 'timeout' | 'cancelled' | null = null;
    let kill: NodeJS.Timeout | undefined;
    const stop = (why: 'timeout' | 'cancelled'): void => {
      stopped ??= why;
      // What the shell started is interrupted; the shell itself ignores it.
      signalAll('SIGINT');
      kill ??= setTimeout(() => signalAll('SIGKILL'), 500);
    };
    const timer = setTimeout(() => stop('timeout'), timeoutMs);
    const cancel = (): void => stop('cancelled');
    signal.addEventListener('abort', cancel);
    child.stdin.write(
      `trap : INT\n. '${path}.sh' < '${path}.in'\n__s=$?; printf '${cellMark}%s\\n' $__s; printf '${cellMark}%s\\n' $__s >&2\n`,
    );
    const settle = async (): Promise<CellEnd> => {
      const [status] = await Promise.race([Promise.all([out.status, err.status]), ended.then(() => [null])]);
      clearTimeout(timer);
      clearTimeout(kill);
      signal.removeEventListener('abort', cancel);
      const durationMs = since(start);
      if (status === null || status === undefined) {
        const end = await ended;
        out.text.end();
        err.text.end();
        return { ...end, reason: stopped ?? end.reason, state: 'lost', durationMs };
      }
      if (stopped !== null)
        return { reason: stopped, exitCode: null, signal: 'SIGINT', state: 'kept', durationMs };
      return { reason: 'exit', exitCode: status, signal: null, state: 'kept', durationMs };
    };
    return { stdout: out.text, stderr: err.text, reports: noReports, ended: settle() };
  }

  const refuse = async (): Promise<never> => {
    throw new WorkcrateError('checkpoint_refused', 'Of a plain Bash there are no checkpoints.');
  };
  return {
    language,
    run(cell) {
      const run = last.then(() => runOne(cell));
      last = run.then(({ ended: over }) => over).catch(() => {});
      return run;
    },
    interrupt: () => signalAll('SIGINT'),
    checkpoint: refuse,
    restore: refuse,
    dropCheckpoint: refuse,
    fork: refuse,
    ended,
    async close() {
      signalAll('SIGKILL');
      await ended;
    },
  };
}

/** The output up to the mark that ends a cell, and the exit code behind it. */
function readToMark(stream: Readable) {
  const text = new PassThrough();
  const status = Promise.withResolvers<number>();
  let held = '';
  const take = (chunk: Buffer): void => {
    held += chunk.toString('latin1');
    const at = held.indexOf(cellMark);
    const end = at === -1 ? -1 : held.indexOf('\n', at);
    if (end === -1) return;
    stream.off('data', take);
    text.end(Buffer.from(held.slice(0, at), 'latin1'));
    status.resolve(Number(held.slice(at + cellMark.length, end)));
  };
  stream.on('data', take);
  return { text, status: status.promise };
}

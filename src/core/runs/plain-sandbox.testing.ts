import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, type Readable, type Writable } from 'node:stream';
import { WorkcrateError } from '../../platform/errors.ts';
import {
  claims,
  languages,
  noReports,
  type Claim,
  type EndReason,
  type EnforcedClaims,
  type Report,
  type RunLimitSettings,
  type RunEnd,
  type RunRequest,
  type Sandbox,
} from '../../ports/sandbox/sandbox.ts';
import { startPlainSession } from './plain-session.testing.ts';

const limits: RunLimitSettings = {
  memoryBytes: 1024 ** 3,
  processes: 128,
  cpus: 2,
  fileBytes: 2 * 1024 ** 3,
  diskBytes: 10 * 1024 ** 3,
  tmpBytes: 1024 ** 2,
  graceMs: 1000,
};

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/** Runs the interpreters as they are, without any wall. Code finds its folders by $WORKSPACE and $ARTIFACTS. */
export function plainSandbox(
  options: {
    holds?: Partial<EnforcedClaims>;
    refuse?: WorkcrateError;
    /** What every run reports. */
    reports?: () => AsyncIterable<Report>;
  } = {},
): Sandbox {
  const tmp = mkdtempSync(join(tmpdir(), 'workcrate-plain-'));
  const children = new Set<Child>();
  const holds = Object.fromEntries(claims.map((claim) => [claim, true])) as Record<Claim, true>;
  return {
    kind: 'subprocess',
    languages,
    holds: { ...holds, ...options.holds },
    limits,
    warnings: [],
    runtime: async (language) => `${language} 1.0`,
    pythonDistributions: async () => new Map(),
    pythonPackages: async () => null,
    preload: async () => null,
    folders: () => null,
    warm: async () => {},
    claimDisk: async () => ({ [Symbol.dispose]() {} }),
    async start(request) {
      if (options.refuse) throw options.refuse;
      const child = started(request, tmp);
      children.add(child);
      const ended = endOf(child, request).finally(() => children.delete(child));
      // Node throws away what nobody has begun to read by the time a child exits.
      const [stdout, stderr] = [child.stdout.pipe(new PassThrough()), child.stderr.pipe(new PassThrough())];
      return { stdout, stderr, reports: options.reports?.() ?? noReports, ended };
    },
    async startSession(request) {
      if (options.refuse) throw options.refuse;
      if (request.language !== 'bash')
        throw new WorkcrateError('sandbox_unavailable', 'Only Bash has sessions here.');
      return startPlainSession(request, tmp);
    },
    occupancy: () => ({ running: children.size, queued: 0, warm: 0 }),
    async [Symbol.asyncDispose]() {
      for (const child of children) signalAll(child, 'SIGKILL');
      rmSync(tmp, { recursive: true });
    },
  };
}

const commands: Record<RunRequest['language'], (code: string) => [string, string[]]> = {
  python: (code) => ['python3', ['-c', code]],
  node: (code) => [process.execPath, ['-e', code]],
  // With a socket for its stdin, Bash takes itself to be run from afar and reads ~/.bashrc.
  bash: (code) => ['bash', ['--norc', '-c', code]],
};

function started({ language, code, place, workingDir, stdin }: RunRequest, tmp: string): Child {
  const [, root, ...below] = workingDir.split('/');
  const base = root === 'workspace' ? place.workspace : root === 'artifacts' ? place.artifacts : tmp;
  const [command, args] = commands[language](code);
  const child = spawn(command, args, {
    cwd: join(base, ...below),
    env: { PATH: process.env['PATH'], WORKSPACE: place.workspace, ARTIFACTS: place.artifacts },
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  child.stdin.on('error', () => {});
  child.stdin.end(stdin);
  return child;
}

async function endOf(child: Child, { timeoutMs, signal: cancel }: RunRequest): Promise<RunEnd> {
  const begun = performance.now();
  const exited = Promise.withResolvers<[number | null, NodeJS.Signals | null]>();
  child.once('exit', (code, signal) => exited.resolve([code, signal]));
  let stopped: EndReason | null = null;
  let kill: NodeJS.Timeout | undefined;
  const stop = (why: EndReason): void => {
    stopped ??= why;
    signalAll(child, 'SIGTERM');
    kill ??= setTimeout(() => signalAll(child, 'SIGKILL'), limits.graceMs);
  };
  const cancelled = (): void => stop('cancelled');
  if (cancel.aborted) cancelled();
  cancel.addEventListener('abort', cancelled);
  const timer = setTimeout(() => stop('timeout'), timeoutMs);
  const [exitCode, signal] = await exited.promise;
  signalAll(child, 'SIGKILL');
  clearTimeout(timer);
  clearTimeout(kill);
  cancel.removeEventListener('abort', cancelled);
  const reason = stopped ?? (signal === null ? 'exit' : 'signal');
  return { reason, exitCode, signal, durationMs: performance.now() - begun };
}

function signalAll({ pid }: Child, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

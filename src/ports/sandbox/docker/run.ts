import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { WatchedDisk } from '../disk.ts';
import { packagesInside } from '../environments.ts';
import {
  getSignalName,
  createStopper,
  toolsInside,
  type EndReason,
  type SandboxRun,
  type RunEnd,
  type RunRequest,
  type Stopper,
  type StopReason,
} from '../sandbox.ts';
import { toProxyVariables } from '../gate.ts';
import { toEpochVariable } from '../run-variables.ts';
import { collectReports, secretBytes } from '../sessions/frames.ts';
import { readToldTemporaryFiles } from '../temporary-files.ts';
import type { Container, DockerOptions } from './container.ts';
import type { Engine } from './engine.ts';
import type { SupervisorReport } from './supervisor.ts';

/** How long after its timeout and grace a container ends by itself, if the server is gone. */
const abandonAfterMs = 10_000;

export interface ContainerRun {
  readonly run: SandboxRun;
  readonly stop: Stopper;
  /** Once the container is gone. */
  readonly over: Promise<void>;
}

/** Starts the run in a container and follows it to its end. */
export function runInContainer(
  engine: Engine,
  container: Container,
  request: RunRequest,
  { limits, log, disk, certificates = null }: DockerOptions & { readonly disk: WatchedDisk },
): ContainerRun {
  const began = performance.now();
  const heldMs = request.tools?.clock.mostHeldMs ?? 0;
  const mostMs = request.timeoutMs + heldMs + limits.graceMs + abandonAfterMs;
  const secret = randomBytes(secretBytes);
  const environment = {
    ...toProxyVariables(request.network?.environment, { certificates }),
    ...toEpochVariable(request.startedAt),
  };
  const run = container.begin({ ...request, code: addHeader(request, secret), mostMs, environment });
  const killed = Promise.withResolvers<null>();
  const killContainer = async () => {
    run.release();
    // If it cannot be killed, the engine is gone, and nothing more can be done from here.
    await container.kill().finally(() => killed.resolve(null));
  };
  const stop = createStopper({
    timeoutMs: request.timeoutMs,
    graceMs: limits.graceMs,
    clock: request.tools?.clock,
    signal: request.signal,
    term: () => container.term().catch((error: unknown) => log.warn('sandbox.term_failed', { error })),
    kill: () => void killContainer().catch((error: unknown) => log.warn('sandbox.kill_failed', { error })),
  });
  const watch = disk.watch(request.place, () => stop.killNow('disk'));

  const finish = async (): Promise<RunEnd> => {
    const report = await Promise.race([run.report, killed.promise]);
    stop[Symbol.dispose]();
    watch[Symbol.dispose]();
    const end = await toContainerRunEnd(engine, container, report, stop);
    return { ...end, durationMs: performance.now() - began };
  };
  const ended = finish();
  const reports = collectReports(run.reports, secret);
  return {
    run: { stdout: run.stdout, stderr: run.stderr, reports, ended },
    stop,
    over: removeContainer(container, ended, log),
  };
}

/** For Python, which reports beside its output. */
function addHeader({ language, workingDir, code, install, tools }: RunRequest, secret: Buffer): string {
  if (language !== 'python') return code;
  const packages = install ? null : packagesInside;
  const shown = tools ? { tools: toolsInside } : {};
  const header = { folder: workingDir, secret: secret.toString('hex'), packages, ...shown };
  return `${JSON.stringify(header)}\0${code}`;
}

/** When the run has ended. */
export async function removeContainer(
  container: Container,
  ended: Promise<RunEnd>,
  log: DockerOptions['log'],
): Promise<void> {
  await ended;
  try {
    await container.remove();
  } catch (error) {
    log.warn('sandbox.container_left', { container: container.id, error });
  }
}

async function toContainerRunEnd(
  engine: Engine,
  container: Container,
  report: SupervisorReport | null,
  stop: Stopper,
): Promise<Omit<RunEnd, 'durationMs'>> {
  if (report === null) {
    const reason = stop.reason ?? (await findSilentEndReason(engine, container));
    return { reason, exitCode: null, signal: reason === 'lost' ? null : 'SIGKILL' };
  }
  return toReportedEnd(report, stop.reason);
}

/** How it ended, by the supervisor's report. */
export function toReportedEnd(
  report: SupervisorReport,
  stopped: StopReason | null,
): Omit<RunEnd, 'durationMs'> {
  const exitCode = report.code >= 0 ? report.code : null;
  const signal = report.code < 0 ? getSignalName(-report.code) : null;
  const peakMemoryBytes = report.memoryPeakBytes ?? null;
  const temporaryFiles = readToldTemporaryFiles(report.temporaryFiles);
  return {
    reason: stopped ?? getReportedEndReason(report),
    exitCode,
    signal,
    peakMemoryBytes,
    temporaryFiles,
  };
}

/** A program that failed after it was refused memory or processes failed because of that. */
function getReportedEndReason({ code, oomKilled, pidsRefused }: SupervisorReport): EndReason {
  if (code !== 0 && oomKilled > 0) return 'oom';
  if (code !== 0 && pidsRefused > 0) return 'pids';
  return code < 0 ? 'signal' : 'exit';
}

/** How often the engine is asked, and the pause between: it hears of the end later than we do. */
const silentEndLooks = 20;
const silentEndPauseMs = 50;

interface ContainerState {
  readonly State: { readonly Running: boolean; readonly OOMKilled: boolean };
}

/** The supervisor itself is gone. */
export async function findSilentEndReason(engine: Engine, container: Container): Promise<EndReason> {
  try {
    for (let look = 0; look < silentEndLooks; look++) {
      const { State } = await engine.call<ContainerState>('GET', `/containers/${container.id}/json`);
      if (State.OOMKilled) return 'oom';
      if (!State.Running) break;
      await pause(silentEndPauseMs);
    }
    return 'lost';
  } catch {
    return 'lost';
  }
}

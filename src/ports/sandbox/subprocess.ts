/**
 * The backend without walls: interpreters as children of the server, for code that the operator trusts. It does not
 * isolate anything and says so in `holds`; `bubblewrap/` and `docker/` do.
 */
import { randomBytes } from 'node:crypto';
import { openSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Duplex, Writable } from 'node:stream';
import { WorkcrateError } from '../../platform/errors.ts';
import { createWatchedDisk } from './disk.ts';
import { getInstallVariables } from './environments.ts';
import { openProxyPort } from './gate.ts';
import { fitLimits, readHardLimits, noHardLimits } from './hard-limits.ts';
import { createDistributionLookup, createPackageLookup, createRuntimeLookup } from './interpreters.ts';
import { toEpochVariable } from './run-variables.ts';
import {
  languages,
  createRunQueue,
  createStopper,
  toolsDescriptor,
  type Report,
  type RunEnd,
  type RunRequest,
  type Sandbox,
  type SandboxRun,
  type SessionRequest,
  type StopReason,
  type Workspace,
} from './sandbox.ts';
import { collectReports, secretBytes } from './sessions/frames.ts';
import { openSession, type SessionProcess } from './sessions/session.ts';
import { listTemporaryFiles } from './temporary-files.ts';
import {
  checkPython,
  describeSubprocessLimits,
  findPrograms,
  type SubprocessOptions,
} from './subprocess/command.ts';
import { killFamily, signalFamily } from './subprocess/descendants.ts';
import { createSubprocessFolders, isOpenToAll } from './subprocess/folders.ts';
import {
  getSearchPath,
  readUntilCut,
  removeRunFolder,
  startInterpreter,
  toHostFolders,
  waitForInterpreterExit,
  type StartedInterpreter,
  type SubprocessContext,
} from './subprocess/interpreter.ts';

/**
 * Runs the interpreters as plain children of the server. There is no isolation apart from an empty environment, another
 * uid if the server is root, and what util-linux can limit. Only for code that is trusted.
 */
export async function subprocessSandbox(requested: SubprocessOptions): Promise<Sandbox> {
  // Of these limits it enforces only the size of a file.
  const { fileBytes } = readHardLimits();
  const { limits, warnings } = fitLimits(
    requested.limits,
    requested.mostRuns,
    { ...noHardLimits, fileBytes },
    Number.POSITIVE_INFINITY,
  );
  const options = { ...requested, limits };
  const programs = await findPrograms();
  if (requested.python !== null) await checkPython(requested.python);
  const runFolders = await createSubprocessFolders();
  const python = requested.python ?? programs.python;
  const path = getSearchPath(runFolders);
  const queue = createRunQueue(options);
  const disk = createWatchedDisk(options.limits.diskBytes, options.log);
  const context: SubprocessContext = {
    options,
    programs,
    runFolders,
    disk,
    running: new Set(),
    seen: new Set(),
  };
  const endings = new Set<Promise<unknown>>();

  return {
    kind: 'subprocess',
    languages,
    holds: describeSubprocessLimits(programs, options),
    limits,
    warnings,
    runtime: createRuntimeLookup({ python, bash: 'bash', path }),
    preload: async () => null,
    pythonPackages: createPackageLookup(python, path),
    pythonDistributions: createDistributionLookup(python, path),
    folders: (place) => toHostFolders(place, options),
    warm: async () => {},
    claimDisk: (place, bytes) => disk.claim(place, bytes),
    async start(request) {
      const leave = await queue.enter(request);
      try {
        await disk.admit(request.place);
        const { run, over } = await startSubprocess(context, request);
        const ending = over.finally(() => {
          leave();
          endings.delete(ending);
        });
        endings.add(ending);
        return run;
      } catch (error) {
        leave();
        throw error;
      }
    },
    async startSession(request) {
      await disk.admit(request.place);
      const { router, inside, over } = await startSessionRouter(context, request);
      const ending = over.finally(() => endings.delete(ending));
      endings.add(ending);
      const translate = toInsidePaths(request.place);
      return openSession(router, request, { queue, disk, inside, translate });
    },
    occupancy: () => ({ running: queue.running(), queued: queue.queued(), warm: 0 }),
    async [Symbol.asyncDispose]() {
      queue.close();
      for (const killNow of context.running) killNow('cancelled');
      await Promise.all(endings);
      await disk[Symbol.asyncDispose]();
      await runFolders[Symbol.asyncDispose]();
    },
  };
}

/** `over` also waits for the cleanup. */
async function startSubprocess(
  context: SubprocessContext,
  request: RunRequest,
): Promise<{ run: SandboxRun; over: Promise<void> }> {
  const secret = randomBytes(secretBytes);
  const { place, network = null, install = null, tools = null } = request;
  if (install !== null) await checkReachable(place);
  const port = network === null ? null : await openProxyPort();
  if (port !== null) port.network = network;
  const { certificates = null } = context.options;
  const environment = {
    ...(port === null ? {} : network?.environment(port.url, certificates)),
    ...toEpochVariable(request.startedAt),
    ...(install === null ? {} : getInstallVariables(place.packages!, install.npm ?? '')),
  };
  const header = {
    // It starts there. By its path it could not get there if a folder above were closed to it.
    folder: '.',
    secret: secret.toString('hex'),
    roots: [place.workspace, place.artifacts],
    packages: install === null ? place.packages : null,
  };
  const starting = startInterpreter(context, { ...request, environment }, (folder) => {
    const shown = tools === null ? header : { ...header, tools: folder.tools };
    // The code of Python comes behind its header, by the same descriptor.
    if (request.language === 'python')
      writeFileSync(folder.code, `${JSON.stringify(shown)}\0${request.code}`);
    return openSync(folder.code, 'r');
  });
  starting.catch(() => port?.[Symbol.dispose]());
  const started = await starting;
  const { outputs } = started;
  if (tools !== null) tools.accept((started.child.stdio as readonly unknown[])[toolsDescriptor] as Duplex);
  const ended = followSubprocess(context, request, started);
  const over = removeRunFolder(ended, started).finally(() => port?.[Symbol.dispose]());
  const reports = collectReports(readUntilCut(outputs.report), secret, toInsidePaths(place));
  const [stdout, stderr] = [readUntilCut(outputs.stdout), readUntilCut(outputs.stderr)];
  return { run: { stdout, stderr, reports, ended }, over };
}

/** Packages are found by their whole path, which another uid cannot follow through a folder that is closed to it. */
async function checkReachable({ uid, workspace }: Workspace): Promise<void> {
  if (uid === null || (await isOpenToAll(dirname(workspace)))) return;
  throw new WorkcrateError(
    'sandbox_unavailable',
    'Packages cannot be installed here: without walls, runs have to open them by their whole path, and a folder above them is closed to the users of runs. The operator can open it (chmod o+x on the data folder), or use another --sandbox.',
  );
}

/** Starts the router of a session, which is Python whatever the language is. */
async function startSessionRouter(context: SubprocessContext, request: SessionRequest) {
  const port = (request.environment ?? null) === null ? null : await openProxyPort();
  const asRun = { ...request, language: 'python' as const, code: '', stdin: '', environment: {} };
  const starting = startInterpreter(context, asRun, () => 'pipe');
  starting.catch(() => port?.[Symbol.dispose]());
  const started = await starting;
  const { child, family, outputs } = started;
  const control = child.stdio[3] as Writable;
  control.on('error', () => {});
  let stopped: StopReason | null = null;
  const kill = (reason: StopReason): void => {
    stopped ??= reason;
    killFamily(family);
  };
  context.running.add(kill);
  const began = performance.now();
  const finish = async (): Promise<RunEnd> => {
    const [exitCode, signal] = await waitForInterpreterExit(child);
    context.running.delete(kill);
    killFamily(family);
    const reason = stopped ?? (signal === null ? 'exit' : 'signal');
    return { reason, exitCode, signal, durationMs: performance.now() - began };
  };
  const ended = finish();
  const router: SessionProcess = {
    stdout: readUntilCut(outputs.stdout),
    stderr: readUntilCut(outputs.stderr),
    reports: readUntilCut(outputs.report),
    ended,
    send: (text) => void control.write(text),
    setNetwork(network) {
      if (port !== null) port.network = network;
    },
    kill,
    findLimitReason: async () => null,
  };
  const { workspace, artifacts, packages } = request.place;
  const { certificates = null } = context.options;
  const inside = {
    folder: '.',
    roots: [workspace, artifacts],
    packages,
    node: [join(context.runFolders.programs, 'node')],
    bash: context.programs.bash,
    environment: (port !== null && request.environment?.(port.url, certificates)) || {},
  };
  return { router, inside, over: removeRunFolder(ended, started).finally(() => port?.[Symbol.dispose]()) };
}

/** What code opened is told by its path on this machine, and recorded as other backends tell it. */
function toInsidePaths({ workspace, artifacts }: Workspace): (report: Report) => Report {
  const toInside = (path: unknown): unknown => {
    if (typeof path !== 'string') return path;
    if (path.startsWith(`${workspace}/`)) return `/workspace${path.slice(workspace.length)}`;
    return path.startsWith(`${artifacts}/`) ? `/artifacts${path.slice(artifacts.length)}` : path;
  };
  return ({ header, payload }) => {
    const { type, paths } = header;
    const isOpened = type === 'opened' && Array.isArray(paths);
    return { header: isOpened ? { ...header, paths: paths.map(toInside) } : header, payload };
  };
}

async function followSubprocess(
  context: SubprocessContext,
  request: RunRequest,
  { child, family, folder }: StartedInterpreter,
): Promise<RunEnd> {
  const began = performance.now();
  const { limits } = context.options;
  const exited = waitForInterpreterExit(child);
  using stop = createStopper({
    timeoutMs: request.timeoutMs,
    graceMs: limits.graceMs,
    clock: request.tools?.clock,
    signal: request.signal,
    term: () => void signalFamily(family, 'SIGTERM'),
    kill: () => killFamily(family),
  });
  using _watch = context.disk.watch(request.place, () => stop.killNow('disk'));
  context.running.add(stop.killNow);
  const [exitCode, signal] = await exited;
  context.running.delete(stop.killNow);
  killFamily(family);
  const reason = stop.reason ?? (signal === null ? 'exit' : signal === 'SIGXFSZ' ? 'disk' : 'signal');
  const durationMs = performance.now() - began;
  // What it wrote to the /tmp of this machine stays there.
  const temporaryFiles = listTemporaryFiles({ $TMPDIR: folder.tmp, '~': folder.home });
  return { reason, exitCode, signal, durationMs, temporaryFiles };
}

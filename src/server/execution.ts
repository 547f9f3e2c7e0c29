/**
 * Opens what runs code: workspaces, the sandbox that the settings name, executions and artifacts. If no sandbox works
 * here, the server starts without one and says why. How code is isolated is in `ports/sandbox/`.
 */
import { homedir } from 'node:os';
import { join } from 'node:path';
import { createArtifacts } from '../core/artifacts/artifacts.ts';
import * as changes from '../core/artifacts/changes.ts';
import { createPictureViewer } from '../core/artifacts/run-pictures.ts';
import { getAuditFolder } from '../core/audit/audit.ts';
import { restoreRunLines, type RecordedRun } from '../core/audit/run-lines.ts';
import { toFairLimits } from '../platform/concurrency/fair-queue.ts';
import type { ServerConfig as Config } from './settings.ts';
import type { Database } from '../ports/database/database.ts';
import { isWorkcrateError } from '../platform/errors.ts';
import { createExecutions, type Execution } from '../core/runs/executions.ts';
import { createProgramRunner } from '../core/runs/run-program.ts';
import { createProvenance, filesOfRun } from '../features/provenance/provenance.ts';
import { runRecord } from './run-record.ts';
import { describePythonToOperator, readSurroundings } from '../core/runs/tools.ts';
import type { Files } from '../core/files/files.ts';
import { localCaller, type Caller } from '../core/identity.ts';
import type { Links } from '../core/links/links.ts';
import { traceExecutions, traceSandbox } from './instrumentation/instrumentation.ts';
import type { Log } from '../platform/observability/log.ts';
import { programName } from '../platform/program.ts';
import { openSandbox } from '../ports/sandbox/open.ts';
import type { Sandbox } from '../ports/sandbox/sandbox.ts';
import { createScripts } from '../features/scripts/scripts.ts';
import { createSessions } from '../core/runs/sessions/sessions.ts';
import { createInputProvider } from '../features/packing/provide-input.ts';
import { createWorkspaces, type Workspaces } from '../core/workspaces/workspaces.ts';
import type { AppContext } from './context.ts';
import { auditUse, openNetworks, type RunNetworks } from './network.ts';
import { createRunNetwork } from '../features/network/runs.ts';
import type { RunExtension } from '../core/runs/extension.ts';
import { openPackages } from './packages.ts';
import { createPackageCheck } from './missing-packages.ts';
import { getOutputBounds } from './offer.ts';
import { openToolCalls } from './tool-calls.ts';

export interface CodeRunnerOptions extends AppContext {
  readonly database: Database;
  /** The id of this server. */
  readonly server: string;
  readonly files: Files;
  readonly links: Links;
}

/** Where nobody may work. */
function listServerFolders({ data, filesDir }: Config, workspaces: string): string[] {
  return [data, workspaces, ...(filesDir === null ? [] : [filesDir]), homedir()];
}

export type CodeRunner = Awaited<ReturnType<typeof startCodeRunner>>;

/** Opens workspaces, sandbox, executions and artifacts: the part of the composition root for code. */
export async function startCodeRunner(options: CodeRunnerOptions) {
  const { config, database, server, files, metrics, tracing, clock, log } = options;
  const outputBounds = getOutputBounds(config);
  await using started = new AsyncDisposableStack();
  const folder = getWorkspacesFolder(config);
  const places = createWorkspaces({ database, folder, uids: getSandboxUids(config), clock });
  const networks = started.use(openNetworks(config, options.audit, log));
  const sandbox = await openConfiguredSandbox(options, places, networks);
  if (typeof sandbox !== 'string') {
    started.use(sandbox);
    metrics.watchSandbox(() => sandbox.occupancy());
    logSandboxGaps(sandbox, log);
  }
  const onlyPlace = config.auth.length === 0 ? await places.of(localCaller.user) : null;
  const packages = started.use(await openPackages({ ...options, places, sandbox, networks }));
  const network = { allowedHosts: networks.port?.allowed ?? null, canInstall: packages !== null };
  const surroundings = await readSurroundings(sandbox, onlyPlace, network);
  const serverFolders = listServerFolders(config, folder);
  const { provenance, inUse } = openProvenance(options, places, sandbox);
  started.use(provenance);
  const executions = createExecutions({
    database,
    files,
    places,
    sandbox: inUse,
    changes,
    extensions: [provenance.extension, ...openRunExtensions(options, networks)],
    record: runRecord,
    data: config.data,
    server,
    serverFolders,
    ...toRunTerms(config),
    outputBounds,
    ended(execution) {
      metrics.executionEnded(execution);
      sessions.noteCell(execution);
      scripts.noteRun(execution);
    },
    clock,
    log,
  });
  const scripts = createScripts({
    database,
    executions,
    quota: { scripts: config.scriptsUser, bytes: config.scriptsUserBytes },
    clock,
    log,
  });
  // It is closed after what runs, whose ends it notes.
  started.use(scripts);
  started.use(executions);
  log.info('start.executions_lost', { count: await executions.recover() });
  const sessions = createSessions({
    database,
    executions,
    files,
    places,
    sandbox: inUse,
    filesOfCells: {
      ...filesOfRun,
      provide: createInputProvider({ executions, keptResults: provenance, places }),
    },
    networkEnvironment: networks.port?.environment ?? null,
    data: config.data,
    workspaces: folder,
    server,
    serverFolders,
    mostOfUser: config.sessionsUser,
    idleMs: config.sessionIdle * 1000,
    keepFileSeconds: config.fileTtl,
    keepDays: config.keepFailures,
    clock,
    log,
  });
  started.use(sessions);
  metrics.watchCodeSessions(sessions.openCount);
  log.info('start.sessions_lost', { count: await sessions.recover() });
  await restoreRunAudit(options, await executions.lastEnded());
  const runProgram = createProgramRunner(inUse, places);
  const artifacts = createArtifacts({ places, sizeLimit: config.artifactSizeLimitMb * 1024 ** 2, log });
  const running = started.move();
  return {
    executions: traceExecutions(executions, tracing),
    sessions,
    scripts,
    packages,
    runProgram,
    findMissingPackages: createPackageCheck(runProgram),
    artifacts,
    keptResults: provenance,
    showPictures: createRunPictures(places),
    places,
    occupancy: () => (typeof sandbox === 'string' ? noRuns : sandbox.occupancy()),
    where: describeSandbox(sandbox),
    surroundings,
    python: surroundings && describePythonToOperator(surroundings, config.pythonPreload),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Hashes and keeps what runs made, and the sandbox for which that gives way. */
function openProvenance(
  { config, database, tracing, clock, log }: CodeRunnerOptions,
  places: Workspaces,
  sandbox: Sandbox | string,
) {
  const provenance = createProvenance({
    database,
    places,
    sandbox,
    keepBytes: config.keepResults,
    clock,
    log,
  });
  const inUse =
    typeof sandbox === 'string' ? sandbox : provenance.letKeptGiveWay(traceSandbox(sandbox, tracing));
  return { provenance, inUse };
}

/** Shows pictures among files that a run made, as they were when it ended. */
function createRunPictures(places: Workspaces) {
  const view = createPictureViewer({ places });
  return (caller: Caller, execution: Execution, paths: readonly string[]) =>
    view(caller, filesOfRun.addHashes(execution, paths));
}

/** What features add to runs, in the order in which they are asked. */
const openRunExtensions = (
  { judge, audit, ...options }: CodeRunnerOptions,
  { port }: RunNetworks,
): RunExtension[] => [
  ...(judge === null ? [] : [judge.runs]),
  createRunNetwork({ port, used: (execution, use) => auditUse(audit, execution, use) }),
  openToolCalls({ ...options, audit }),
];

/** Later than the client is told that its time to answer is over. */
const extraAnswerMs = 5000;

/** How long runs may take, how much of them is kept, and for how long. */
const toRunTerms = (config: Config) => ({
  timeoutMs: config.runTimeout * 1000,
  maxTimeoutMs: config.runMaxTimeout * 1000,
  askMs: config.clientTimeout * 1000 + extraAnswerMs,
  orphanGraceMs: config.orphanGrace * 1000,
  outputBytes: config.runOutput,
  keepOutputSeconds: config.fileTtl,
  retention: { successDays: config.keepSuccesses, failureDays: config.keepFailures },
  recordBytes: config.recordsUserBytes,
});

/** Writes audit lines that were lost in a crash again. */
async function restoreRunAudit(
  { config, audit, log }: AppContext,
  runs: readonly RecordedRun[],
): Promise<void> {
  if (config.auditLevel === 'off') return;
  const folder = getAuditFolder(config.data);
  const count = await restoreRunLines({ audit, folder, key: config.auditKey }, runs);
  if (count > 0) log.warn('start.audit_lines_restored', { count });
}

/** The folder of every user's /workspace and /artifacts. */
export const getWorkspacesFolder = ({ placesDir, data }: Config): string => placesDir ?? join(data, 'places');

/** The uids for runs; null unless this process is root and may set them. */
export const getSandboxUids = ({ sandboxUids }: Config) => (process.getuid?.() === 0 ? sandboxUids : null);

const noRuns = { running: 0, queued: 0, warm: 0 };

/**
 * A sandbox that the settings name has to work, or the server does not start. With `auto` the server starts without one
 * if need be, and runs are refused with the reason: files and links need no sandbox.
 */
async function openConfiguredSandbox(
  { config, metrics, log }: CodeRunnerOptions,
  places: Workspaces,
  { certificates }: RunNetworks,
): Promise<Sandbox | string> {
  if (config.sandbox === 'off') return 'It is switched off (--sandbox off).';
  const kind = config.sandbox === 'auto' ? 'bubblewrap' : config.sandbox;
  try {
    const sandbox = await openSandbox({ ...toSandboxOptions(config, log), certificates, kind });
    // Also with --auth, where this user does not exist: it shows whether code can run here at all.
    await sandbox.warm(localCaller.user, await places.of(localCaller.user));
    metrics.sandboxOpened(kind, sandbox.holds);
    return sandbox;
  } catch (error) {
    if (config.sandbox !== 'auto' || !isWorkcrateError(error, 'sandbox_unavailable')) throw error;
    metrics.sandboxMissing(kind);
    log.warn('sandbox.unavailable', { error });
    return error.message;
  }
}

export function toSandboxOptions(config: Config, log: Log) {
  return {
    limits: {
      memoryBytes: config.runMemory,
      processes: config.runProcesses,
      cpus: config.runCpus,
      fileBytes: config.runFileSize,
      diskBytes: config.runDisk,
      tmpBytes: config.runTmp,
      graceMs: 5000,
    },
    network: config.sandboxNetwork === 'host' ? ('host' as const) : ('none' as const),
    isProxied: config.sandboxNetwork.startsWith('allow:'),
    mostRuns: config.maxRuns,
    mostRunsOfUser: getMaxRunsOfUser(config),
    tools: config.toolsPath,
    skills: config.skillsPath,
    warm: { python: config.warmPython, node: config.warmNode, bash: config.warmBash },
    log,
    allowed: config.allowSandbox,
    python: config.python,
    pythonPreload: config.pythonPreload,
    docker: { socket: config.dockerSocket, image: config.executorImage, runtime: config.dockerRuntime },
    instance: config.data,
  };
}

/** As set, but never more than all runs. */
function getMaxRunsOfUser({ maxRuns, maxRunsUser, auth }: Config): number {
  return Math.min(maxRuns, maxRunsUser ?? toFairLimits(maxRuns, auth.length > 0).mostOfUser);
}

/** For people who start the server. */
function describeSandbox(sandbox: Sandbox | string): string {
  if (typeof sandbox === 'string') return `nothing. ${sandbox}`;
  const missing = Object.values(sandbox.holds).filter((held) => held !== true).length;
  return missing === 0
    ? sandbox.kind
    : `${sandbox.kind}, but ${missing} of its walls and limits are not enforced: see ${programName} doctor`;
}

function logSandboxGaps({ kind, holds, warnings }: Sandbox, log: Log): void {
  const missing = Object.entries(holds).filter(([, held]) => held !== true);
  log[missing.length === 0 ? 'info' : 'warn']('sandbox.opened', {
    kind,
    not_held: Object.fromEntries(missing),
  });
  for (const message of warnings) log.warn('sandbox.limit_lowered', { message });
}

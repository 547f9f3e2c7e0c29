import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { difference, snapshot } from '../artifacts/changes.ts';
import { createPictureViewer } from '../artifacts/run-pictures.ts';
import { openDatabase } from '../../ports/database/open.ts';
import { createFiles, type Quotas } from '../files/files.ts';
import type { Caller } from '../identity.ts';
import { createLinks } from '../links/links.ts';
import { openUploads } from '../links/open-uploads.ts';
import { createLog } from '../../platform/observability/log.ts';
import { memoryStorage } from '../../ports/storage/memory.ts';
import { createWorkspaces } from '../workspaces/workspaces.ts';
import {
  createExecutions,
  type ExecutionRequest,
  type ExecutionsOptions,
  type FindCrateFiles,
} from './executions.ts';
import type { Changes, FolderSnapshot } from './difference.ts';
import { createProvenance, filesOfRun } from '../../features/provenance/provenance.ts';
import type { Execution } from './fields.ts';
import { runRecord } from '../../server/run-record.ts';
import { plainSandbox } from './plain-sandbox.testing.ts';
import type { Surroundings } from './surroundings.ts';
import { bindTool } from '../offer/tool.ts';
import { declareExecutionTools } from './tools.ts';
import type { OutputBounds } from './output.ts';

export const ada: Caller = { user: 'ada' };
export const bob: Caller = { user: 'bob' };

export const emptySnapshot: FolderSnapshot = { files: new Map(), sawAll: true, unreadable: 0, takenAt: 0n };

export const shownBounds: OutputBounds = { most: 10_000, head: 4000, tail: 4000 };

export const plenty: Quotas = { userBytes: 1e12, userFiles: 1e6, totalBytes: 1e12, totalFiles: 1e6 };

export interface RoomOptions extends Partial<Omit<ExecutionsOptions, 'files' | 'places' | 'record'>> {
  /** The most bytes of the results of one run that are kept. */
  readonly keepBytes?: number;
  readonly location?: string;
  readonly quotas?: Quotas;
  readonly uids?: { from: number; to: number };
  readonly crateFiles?: FindCrateFiles;
  readonly surroundings?: Surroundings;
  readonly mayHaveNetwork?: boolean;
  readonly detachMs?: number | null;
}

export type TestRoom = Awaited<ReturnType<typeof openRoom>>;

/** The room on a real database and real interpreters, in folders of its own. */
export async function openRoom({
  location,
  quotas = plenty,
  uids,
  crateFiles,
  surroundings,
  mayHaveNetwork = false,
  detachMs = null,
  keepBytes = 50 * 1024 ** 2,
  ...given
}: RoomOptions = {}) {
  await using opened = new AsyncDisposableStack();
  const data = opened.adopt(await mkdtemp(join(tmpdir(), 'workcrate-executions-')), (folder) =>
    rm(folder, { recursive: true, force: true }),
  );
  const database = given.database ?? (await openDatabase(location ?? ':memory:'));
  opened.defer(() => database.close());
  const lines: Record<string, unknown>[] = [];
  const log = createLog('debug', (line) => lines.push(JSON.parse(line) as Record<string, unknown>));
  const clock = given.clock ?? Date.now;
  const storage = memoryStorage();
  const files = createFiles({ database, storage, openUploads, quotas, maxFileSize: 1e9, clock, log });
  const links = createLinks({
    database,
    storage,
    files,
    uploadTtl: 60,
    maxBundleFiles: 10,
    clock,
    log,
  });
  await mkdir(join(data, 'places'));
  const places = createWorkspaces({ database, folder: join(data, 'places'), uids: uids ?? null, clock });
  const plainOrGiven = given.sandbox ?? opened.use(plainSandbox());
  const provenance = opened.use(
    createProvenance({ database, places, sandbox: plainOrGiven, keepBytes, clock, log }),
  );
  const sandbox = typeof plainOrGiven === 'string' ? plainOrGiven : provenance.letKeptGiveWay(plainOrGiven);
  const changes: Changes = { snapshot, difference };
  const executions = opened.use(
    createExecutions({
      database,
      files,
      places,
      changes,
      data,
      server: 'local',
      serverFolders: [data],
      timeoutMs: 20_000,
      maxTimeoutMs: 30_000,
      outputBytes: 64 * 1024 ** 2,
      keepOutputSeconds: 3600,
      retention: { successDays: 30, failureDays: 90 },
      recordBytes: 512 * 1024 ** 2,
      record: runRecord,
      orphanGraceMs: 60_000,
      outputBounds: shownBounds,
      ended: () => {},
      ...given,
      extensions: [provenance.extension, ...(given.extensions ?? [])],
      sandbox,
      clock,
      log,
    }),
  );
  const viewPictures = createPictureViewer({ places });
  const room = {
    record: runRecord,
    showPictures: (caller: Caller, execution: Execution, paths: readonly string[]) =>
      viewPictures(caller, filesOfRun.addHashes(execution, paths)),
    mayHaveNetwork,
    executions,
    files,
    links,
    linkSeconds: 3600,
    baseUrl: () => 'http://127.0.0.1:9180',
    ...(crateFiles === undefined ? {} : { crateFiles }),
    ...(surroundings === undefined ? {} : { surroundings }),
    timeoutMs: 20_000,
    maxTimeoutMs: 30_000,
    detachMs,
    outputBounds: given.outputBounds ?? shownBounds,
  };
  const tools = declareExecutionTools(room).map((tool) => bindTool(tool, room));
  const all = opened.move();
  return {
    data,
    database,
    files,
    links,
    places,
    executions,
    provenance,
    sandbox,
    tools,
    log: lines,
    run: (request: Partial<ExecutionRequest>, caller = ada) =>
      executions.run(caller, { ...plain, ...request }, watching()),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

const plain: ExecutionRequest = {
  tool: 'execute_code',
  language: 'bash',
  code: 'true',
  stdin: '',
  workingDir: null,
  timeoutMs: null,
  files: [],
};

export const watching = (signal = new AbortController().signal) => ({ signal, progress: () => {} });

/** Waits for something that is bound to come, for half a minute. */
export async function until(is: () => boolean | Promise<boolean>): Promise<void> {
  for (let n = 0; n < 3000 && !(await is()); n++) await new Promise((resolve) => setTimeout(resolve, 10));
}

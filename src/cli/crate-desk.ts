import { createExternalCrateTargets, type Crates } from '../features/crates/crates.ts';
import { openCrates, openCrateSources } from '../features/crates/open.ts';
import { openPacking, type Packing } from '../features/packing/packing.ts';
import { makeDataFolder } from '../platform/data-folder/data-folder.ts';
import { openDatabase } from '../ports/database/open.ts';
import { isWorkcrateError, WorkcrateError } from '../platform/errors.ts';
import { getExecution } from '../core/runs/executions.ts';
import { readCallRecord } from '../features/code-mode/store.ts';
import { createKeptReader } from '../features/provenance/provenance.ts';
import { runRecord } from '../server/run-record.ts';
import { createFiles } from '../core/files/files.ts';
import { localCaller, type Caller } from '../core/identity.ts';
import { createLinks } from '../core/links/links.ts';
import { openUploads } from '../core/links/open-uploads.ts';
import { createLog } from '../platform/observability/log.ts';
import { programName } from '../platform/program.ts';
import { getWorkspacesFolder, getSandboxUids } from '../server/execution.ts';
import { getDatabaseLocation, getQuotas, toStorageOptions } from '../core/store-options.ts';
import { openStorage } from '../ports/storage/open.ts';
import { checkUserName } from '../core/users/names.ts';
import { createWorkspaces } from '../core/workspaces/workspaces.ts';
import type { ProgramInput } from './command.ts';
import { createInterruptSignal } from '../platform/command-line/signals.ts';

/** What a command about crates works with. */
export interface CrateDesk extends AsyncDisposable {
  readonly crates: Crates;
  readonly packing: Packing;
  readonly caller: Caller;
  /** The data folder, for messages. */
  readonly data: string;
  /** Fires at Ctrl-C. */
  readonly signal: AbortSignal;
}

/** The crate with an id; if there is none, the error names the command that lists them. */
export async function checkCrate({ crates, caller, signal, data }: CrateDesk, id: string) {
  try {
    return await crates.get(caller, id, signal);
  } catch (error) {
    if (!isWorkcrateError(error, 'not_found')) throw error;
    throw new WorkcrateError(
      'not_found',
      `There is no crate ${JSON.stringify(id)} in the index of ${data}. ${programName} crates search lists those that are. If the server has another --data, give it here too.`,
      { cause: error },
    );
  }
}

/** Opens the same data as a server, without serving it and without its lock: a server may run beside. */
export async function openCrateDesk({ config: given, flags }: ProgramInput): Promise<CrateDesk> {
  // What is worth a line in the log of a server is none in a terminal.
  const config = { ...given, logLevel: given.logLevel === 'info' ? ('warn' as const) : given.logLevel };
  const caller = flags['user'] === undefined ? localCaller : { user: checkUserName(flags['user']) };
  if (config.database === null) makeDataFolder(config.data);
  await using opened = new AsyncDisposableStack();
  const [clock, log] = [Date.now, createLog(config.logLevel)];
  const database = opened.adopt(await openDatabase(getDatabaseLocation(config)), (it) => it.close());
  const storage = opened.adopt(await openStorage(toStorageOptions(config)), (it) => it.close());
  const sources = opened.use(await openCrateSources(config));
  const { maxFileSize, uploadTtl, maxBundleFiles } = config;
  const files = createFiles({
    database,
    storage,
    openUploads,
    quotas: getQuotas(config),
    maxFileSize,
    clock,
    log,
  });
  const externalTargets = createExternalCrateTargets(sources.find);
  const links = createLinks({
    database,
    storage,
    files,
    uploadTtl,
    maxBundleFiles,
    externalTargets,
    clock,
    log,
  });
  const places = createWorkspaces({
    database,
    folder: getWorkspacesFolder(config),
    uids: getSandboxUids(config),
    clock,
  });
  const executions = {
    get: (who: Caller, id: string) => getExecution(database, runRecord, who, id),
  };
  const keptResults = createKeptReader({ database, places });
  const crates = opened.use(openCrates({ config, log, sources, files, links }));
  const readCalls = (id: string) => readCallRecord(database, id);
  const runs = { executions, keptResults, readCalls };
  const rooms = { ...runs, crates, clock, log, database, sources, files, places };
  const packing = openPacking(config, rooms);
  const { signal } = opened.use(createInterruptSignal());
  const all = opened.move();
  return {
    crates,
    packing,
    caller,
    signal,
    data: config.data,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

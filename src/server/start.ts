/**
 * The composition root: settings → database and storage → rooms → tools → listener, from top to bottom. Nothing else
 * constructs a backend. What a part is made of is in its own file beside this one; what a room does is in the room.
 */
import { createTableReader, type TableReader } from '../features/apps/table-reader.ts';
import { getAuditFolder, type Audit } from '../core/audit/audit.ts';
import { openAudit } from '../core/audit/open.ts';
import { openAuditMemory } from '../core/audit/read.ts';
import { auditUploads } from '../core/audit/transfers.ts';
import { forgetOldWaiting, startWritingWaiting } from '../core/audit/waiting.ts';
import { auditAnsweredRequests, auditRefusedCalls, auditTool } from '../core/audit/wrappers.ts';
import type { ClientToolsOptions } from '../features/client-files/tools.ts';
import type { ServerConfig as Config } from './settings.ts';
import { createCrateValidation } from '../features/crate-validation/crate-validation.ts';
import type { DocumentToolsOptions } from '../features/documents/tools.ts';
import type { FindCrateFiles } from '../core/runs/tools.ts';
import type { Gateway } from '../features/gateway/gateway.ts';
import { createPins } from '../features/gateway/pins.ts';
import { createLocalFiles } from '../core/files/local-files.ts';
import { isWildcard } from '../surfaces/http/host-origin.ts';
import { meterCrates, meterDocuments, traceTool } from './instrumentation/instrumentation.ts';
import { sharedStateKey } from '../surfaces/mcp/asking.ts';
import { createServerFactory, type ExtendServer } from '../surfaces/mcp/server.ts';
import { createTasks, type Tasks } from '../surfaces/mcp/tasks/tasks.ts';
import type { Tool } from '../core/offer/tool.ts';
import { createOwnToolbox, joinToolboxes, type Toolbox } from '../core/offer/toolbox.ts';
import { createLog, type Log } from '../platform/observability/log.ts';
import { createMetrics } from '../platform/observability/metrics.ts';
import { openTracing } from '../platform/observability/tracing.ts';
import { readTrustedTime } from '../ports/database/trusted-clock.ts';
import { createAnswerJudge, guardTool } from '../features/guard/wrappers.ts';
import { wasRemoved } from '../core/users/remove.ts';
import { openGuard } from './guard.ts';
import { createClientFilePort, openClientBridge } from './client-files.ts';
import { createCallControl, type CallControl } from './call-control.ts';
import type { AppContext } from './context.ts';
import { openCrates, openPacking, watchCrates } from './crates.ts';
import { openDocuments } from './documents.ts';
import { startCodeRunner, type CodeRunner } from './execution.ts';
import { openServerGateway } from './gateway.ts';
import { getLinkBase } from './link-base.ts';
import { startListening } from './listen.ts';
import { features as allFeatures } from './features.ts';
import { createOffer, readToolGroups, toFactoryTerms, toTerms, type ToolRooms } from './offer.ts';
import { declareFeatures, openFeatures, type FeatureOffer } from './open-features.ts';
import { chooseGroups } from './tools.ts';
import { takePlace, type TakePlace } from './place.ts';
import { describeServerPlace } from './server-id.ts';
import { demandStartable } from './startable.ts';
import { openStores, type Stores } from './stores.ts';
import { startSweeper } from './sweeper.ts';
import { rememberSurroundings } from './remembered-surroundings.ts';

export interface ServerMode {
  /** Whether the client runs on this machine under the same user (stdio). */
  readonly sharesMachine: boolean;
  readonly log?: Log;
  /** How it comes by its port and its data folder; as the settings say by default. */
  readonly takePlace?: TakePlace;
  /** The calls that the client makes over stdio, which a shutdown waits for too. */
  readonly calls?: CallControl;
  /** What tests add to the MCP servers of this one. */
  readonly extend?: ExtendServer | undefined;
}

export type Workcrate = Awaited<ReturnType<typeof startWorkcrate>>;

/** The composition root: config → database, storage → rooms → app. Nothing else constructs a backend. */
export async function startWorkcrate(settings: Config, mode: ServerMode) {
  await demandStartable(settings);
  await using started = new AsyncDisposableStack();
  const place = started.use(await (mode.takePlace ?? takePlace)(settings));
  const config = { ...settings, data: place.data };
  const log = mode.log ?? createLog(config.logLevel);
  warnOfLinkHost(config, log);
  const tracing = await openTracing(config.tracing, log);
  const base = { config, metrics: createMetrics(), tracing, clock: Date.now, log };
  const stores = started.use(await openStores({ ...base, endsWithClient: mode.sharesMachine }));
  const audit = await startAudit(base, stores, started);
  const guard = openGuard({ ...base, audit });
  if (guard !== null) started.use(guard);
  const context: AppContext = { ...base, audit, guard, judge: createAnswerJudge(guard) };
  // It is closed after what runs, which says how its tasks ended.
  const tasks = started.use(await openTasks(context, stores));
  const code = started.use(await startCodeRunner({ ...context, ...stores }));
  rememberSurroundings(config, code.surroundings);
  const crates = meterCrates(started.use(openCrates({ ...context, ...stores })), context.metrics);
  const packing = openPacking({ ...context, ...stores, ...code, crates });
  const validation = started.use(
    createCrateValidation({ ...config, crates, sources: stores.sources.named, log }),
  );
  const writer = startDocuments(context, started);
  startSweeping(context, stores, code, tasks, started);

  let url = '';
  const baseUrl = (): string => getLinkBase(config, url);
  const calls = mode.calls ?? createCallControl();
  const client = openClientBridge({ ...context, stores, baseUrl, sharesMachine: mode.sharesMachine });
  started.use(client.bridge);
  const pins = createPins(stores.database);
  const gateway = started.use(await openServerGateway({ ...context, pins, ownTools: () => ownNames }));
  const tables = started.use(createTableReader(context));
  const rooms = { crates, packing, validation, tables, ...writer, ...client };
  const around = { baseUrl, gateway };
  const { features, offer, ownNames, toolbox } = await openOffer(
    context,
    stores,
    code,
    rooms,
    around,
    started,
  );
  const refused = auditRefusedCalls(audit, offer.tools);
  const answered = auditAnsweredRequests(audit);
  const stateKey = await sharedStateKey(stores.database);
  const factoryOptions = {
    ...context,
    ...toFactoryTerms(config),
    ...calls,
    ...offer,
    extend: mode.extend,
    stateKey,
    refused,
    answered,
    tasks: Promise.resolve(tasks),
    upstream: gateway?.upstream,
  };
  const factoryFor = (sharesMachine: boolean) => createServerFactory({ ...factoryOptions, sharesMachine });
  const listenOptions = {
    ...context,
    stores,
    code,
    crates,
    features,
    bridge: client.bridge,
    factory: factoryFor(false),
    tools: offer.tools,
    upstream: gateway?.upstream,
    toolbox,
    formSecret: stateKey,
    tasks,
    calls,
    port: place.port,
    endsWithClient: mode.sharesMachine,
    baseUrl,
  };
  const listener = started.use(await startListening(listenOptions));
  ({ url } = listener);
  started.use(watchCrates(crates, context));
  started.defer(() => tasks.stop());
  const all = started.move();
  return {
    url,
    baseUrl: baseUrl(),
    factory: factoryFor(mode.sharesMachine),
    log,
    /** What a client over stdio was told about before it was there. */
    offer,
    refused,
    answered,
    judge: context.judge,
    tasks,
    upstream: gateway?.upstream ?? null,
    metrics: context.metrics,
    codeRunsIn: code.where,
    python: code.python,
    drain: listener.drain,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

async function startAudit(
  { config, clock, log }: Omit<AppContext, 'audit' | 'guard' | 'judge'>,
  { database, server }: Stores,
  started: AsyncDisposableStack,
): Promise<Audit> {
  const { auditLevel: level, auditDays: retentionDays, auditKey: key } = config;
  const folder = getAuditFolder(config.data);
  if (level === 'off') {
    await forgetOldWaiting(database, clock(), retentionDays);
    return started.use(openAudit({ folder, clock, level, retentionDays, key, log }));
  }
  const place = describeServerPlace(config.data);
  const memory = await openAuditMemory({ database, server, place, folder, clock, log });
  const trusted = (now: number): Promise<number> => readTrustedTime(database, now);
  const options = { folder, clock, level, retentionDays, trustedTime: trusted, key, memory, log };
  const audit = started.use(openAudit(options));
  started.use(await startWritingWaiting({ ...options, database, server, audit }));
  return audit;
}

/** What was under way when this server ended is told as lost before anybody can ask. */
async function openTasks({ config, clock, log }: AppContext, { database, server }: Stores) {
  const tasks = createTasks({
    database,
    server,
    ttlMs: config.taskTtl * 1000,
    askMs: config.clientTimeout * 1000 + extraAskMs,
    wasRemoved: (caller) => wasRemoved(database, caller),
    clock,
    log,
  });
  log.info('start.tasks_lost', { count: await tasks.recover() });
  return tasks;
}

/** A person may come back to a task later than to a call. */
const extraAskMs = 600_000;

function startSweeping(
  context: AppContext,
  stores: Stores,
  { executions, sessions, packages }: CodeRunner,
  tasks: Tasks,
  started: AsyncDisposableStack,
): void {
  const intervalSeconds = context.config.sweepInterval;
  const swept = { ...stores, executions, sessions, packages, tasks };
  void started.use(startSweeper({ ...context, ...swept, intervalSeconds })).sweepSoon();
}

/** No process starts before the first document. */
function startDocuments(context: AppContext, started: AsyncDisposableStack) {
  const { documents, library } = openDocuments(context);
  return { documents: meterDocuments(started.use(documents), context.metrics, context.log), library };
}

/** Opens the features, and offers what they and the rooms have, of the groups that are switched on. */
async function openOffer(
  context: AppContext,
  stores: Stores,
  code: CodeRunner,
  rooms: OfferedRooms,
  { baseUrl, gateway }: { readonly baseUrl: () => string; readonly gateway: Gateway | null },
  started: AsyncDisposableStack,
) {
  // It is filled below: tools that call tools are among them.
  const toolboxes: Toolbox[] = [];
  const toolbox = joinToolboxes(toolboxes);
  const features = started.use(await openAllFeatures(context, stores, code, toolbox));
  const around = { baseUrl, toolbox };
  const { ownToolbox, ...offered } = createRoomOffer(context, stores, code, rooms, around, features.offer);
  toolboxes.push(ownToolbox, ...(gateway === null ? [] : [gateway.toolbox]));
  return { features, toolbox, ...offered };
}

type OfferedRooms = { readonly tables: TableReader } & Pick<ToolRooms, 'crates' | 'packing' | 'validation'> &
  Pick<DocumentToolsOptions, 'documents' | 'library'> &
  Pick<ClientToolsOptions, 'bridge' | 'cache'>;

/** The tools, resources and prompts of the groups that are switched on. */
function createRoomOffer(
  { config, tracing, audit, guard, clock, log }: AppContext,
  { files, links, uploads, webhook }: Stores,
  {
    executions,
    sessions,
    scripts,
    packages,
    findMissingPackages,
    artifacts,
    showPictures,
    surroundings,
  }: CodeRunner,
  rooms: OfferedRooms,
  { baseUrl, toolbox }: { readonly baseUrl: () => string; readonly toolbox: Toolbox },
  ofFeatures: FeatureOffer,
) {
  const localFiles = createLocalFiles({ files, roots: config.shareRoots, log });
  const crateFiles: FindCrateFiles = ({ caller, signal }, wanted) =>
    rooms.crates.inside.inputs(caller, wanted, signal);
  const clientFiles = createClientFilePort(rooms.bridge, files, config.clientCache);
  const offered = {
    files,
    links,
    uploads,
    viewUploads: auditUploads(uploads, audit),
    localFiles,
    executions,
    sessions,
    scripts,
    packages,
    findMissingPackages,
    artifacts,
    crateFiles,
    clientFiles,
  };
  const others = { audit, clock, showPictures, exported: webhook.exported, baseUrl, toolbox };
  const { everyTool, ...offer } = createOffer(
    config,
    { ...offered, ...rooms, ...others },
    surroundings,
    ofFeatures,
  );
  const watch = (tool: Tool): Tool => auditTool(guardTool(traceTool(tool, tracing), guard), audit);
  const watched = new Map(everyTool.map((tool) => [tool, watch(tool)]));
  const ownNames = new Set(everyTool.map(({ name }) => name));
  const tools = offer.tools.map((tool) => watched.get(tool)!);
  return { offer: { ...offer, tools }, ownNames, ownToolbox: createOwnToolbox([...watched.values()]) };
}

/** Every feature of the list, each with its own settings. */
async function openAllFeatures(
  { config, clock, log }: AppContext,
  { files }: Stores,
  { executions, runProgram, artifacts, surroundings }: CodeRunner,
  toolbox: Toolbox,
) {
  const terms = toTerms(config);
  const groups = chooseGroups(readToolGroups(config));
  const folders = { data: config.data, tools: config.toolsPath, skills: config.skillsPath };
  const offersGroup = (group: string): boolean => groups.has(group);
  const work = { files, executions, runProgram, artifacts };
  const core = { terms, toolbox, offersGroup, ...work, folders, clock, log };
  return openFeatures(await declareFeatures(allFeatures, config, { terms, surroundings }), core, config);
}

/** MCP_HOST used to be the address to listen on, and still is for other servers. */
function warnOfLinkHost({ linkHost, publicUrl }: Config, log: Log): void {
  if (publicUrl !== null || linkHost === null || !isWildcard(linkHost)) return;
  log.warn('config.link_host_wildcard', { link_host: linkHost, links: 'localhost', listen_by: '--host' });
}

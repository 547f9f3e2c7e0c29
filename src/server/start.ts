/**
 * The composition root: settings → database and storage → rooms → tools → listener, from top to bottom. Nothing else
 * constructs a backend. What a part is made of is in its own file beside this one; what a room does is in the room.
 */
import { getAuditFolder, type Audit } from '../core/audit/audit.ts';
import { openAudit } from '../core/audit/open.ts';
import { openAuditMemory } from '../core/audit/read.ts';
import { forgetOldWaiting, startWritingWaiting } from '../core/audit/waiting.ts';
import { auditAnsweredRequests, auditRefusedCalls, auditTool } from '../core/audit/wrappers.ts';
import type { ServerConfig as Config } from './settings.ts';
import type { Gateway } from '../features/gateway/gateway.ts';
import { createPins } from '../features/gateway/pins.ts';
import { createLocalFiles } from '../core/files/local-files.ts';
import { isWildcard } from '../surfaces/http/host-origin.ts';
import { traceTool } from './instrumentation/instrumentation.ts';
import { sharedStateKey } from '../surfaces/mcp/asking.ts';
import { createServerFactory, type ExtendServer } from '../surfaces/mcp/server.ts';
import { createTasks, type Tasks } from '../surfaces/mcp/tasks/tasks.ts';
import type { Brought, Declared } from '../core/feature.ts';
import type { Tool } from '../core/offer/tool.ts';
import { createOwnToolbox, joinToolboxes, type Toolbox } from '../core/offer/toolbox.ts';
import { createLog, type Log } from '../platform/observability/log.ts';
import { createMetrics } from '../platform/observability/metrics.ts';
import { openTracing } from '../platform/observability/tracing.ts';
import { readTrustedTime } from '../ports/database/trusted-clock.ts';
import { wasRemoved } from '../core/users/remove.ts';
import { createCallControl, type CallControl } from './call-control.ts';
import type { AppContext } from './context.ts';
import { startCodeRunner, type CodeRunner } from './execution.ts';
import { openServerGateway } from './gateway.ts';
import { getLinkBase } from './link-base.ts';
import { startListening } from './listen.ts';
import { declareOffer, readToolGroups, selectOffer, toFactoryTerms, toTerms } from './offer.ts';
import {
  bindFeature,
  joinOffers,
  openFeatures,
  openJudge,
  type DeclaredFeature,
  type FeatureOffer,
} from './open-features.ts';
import { chooseGroups, type CoreRoom } from './tools.ts';
import { features as allFeatures } from './features.ts';
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
  const brought: Partial<Brought> = {};
  const stores = started.use(await openStores({ ...base, brought, endsWithClient: mode.sharesMachine }));
  const audit = await startAudit(base, stores, started);
  const judge = await openJudge(allFeatures, config, { audit, files: stores.files, log });
  if (judge !== null) started.use(judge);
  const context: AppContext = { ...base, audit, judge };
  // It is closed after what runs, which says how its tasks ended.
  const tasks = started.use(await openTasks(context, stores));
  const code = started.use(await startCodeRunner({ ...context, ...stores }));
  rememberSurroundings(config, code.surroundings);
  startSweeping(context, stores, code, tasks, started);

  let url = '';
  const baseUrl = (): string => getLinkBase(config, url);
  const calls = mode.calls ?? createCallControl();
  const pins = createPins(stores.database);
  const gateway = started.use(await openServerGateway({ ...context, pins, ownTools: () => ownNames }));
  const around = { baseUrl, gateway, brought, sharesMachine: mode.sharesMachine };
  const { features, offer, ownNames, toolbox } = await openOffer(context, stores, code, around, started);
  const refused = auditRefusedCalls(audit, offer.tools);
  const answered = auditAnsweredRequests(audit);
  const stateKey = await sharedStateKey(stores.database);
  const factoryOptions = {
    ...context,
    ...toFactoryTerms(config),
    ...calls,
    ...offer,
    judge: judge?.calls.judgeAnswer,
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
    features,
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
  features.listening();
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
    judge: judge?.calls.judgeAnswer,
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
  { config, clock, log }: Omit<AppContext, 'audit' | 'judge'>,
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

/** Opens the features, and offers what they and the rooms have, of the groups that are switched on. */
async function openOffer(
  context: AppContext,
  stores: Stores,
  code: CodeRunner,
  { gateway, ...around }: AroundFeatures & { readonly gateway: Gateway | null },
  started: AsyncDisposableStack,
) {
  // It is filled below: tools that call tools are among them.
  const toolboxes: Toolbox[] = [];
  const toolbox = joinToolboxes(toolboxes);
  const declared = await declareOffer(context.config, code.surroundings);
  const given = { ...around, toolbox };
  const features = started.use(await openAllFeatures(context, stores, code, given, declared.features));
  const { ownToolbox, ...offered } = createOpenOffer(
    context,
    stores,
    code,
    given,
    declared.core,
    features.offer,
  );
  toolboxes.push(ownToolbox, ...(gateway === null ? [] : [gateway.toolbox]));
  return { features, toolbox, ...offered };
}

/** What features are opened with besides the core. */
interface AroundFeatures {
  readonly baseUrl: () => string;
  readonly sharesMachine: boolean;
  /** Filled by the features. */
  readonly brought: Partial<Brought>;
}

/** The tools, resources and prompts of the groups that are switched on. */
function createOpenOffer(
  { config, tracing, audit, judge, log }: AppContext,
  { files, links, uploads }: Stores,
  { packages, ...code }: CodeRunner,
  { baseUrl, toolbox, brought }: AroundFeatures & { readonly toolbox: Toolbox },
  declared: Declared<CoreRoom>,
  ofFeatures: FeatureOffer,
) {
  const room: CoreRoom = {
    ...toTerms(config),
    ...code,
    ...brought,
    files,
    links,
    uploads,
    localFiles: createLocalFiles({ files, roots: config.shareRoots, log }),
    // Without packages their tools are not declared.
    packages: packages!,
    linkSeconds: config.fileTtl,
    idleMs: config.sessionIdle * 1000,
    folder: getAuditFolder(config.data),
    key: config.auditKey,
    baseUrl,
    toolbox,
  };
  const ofCore = bindFeature(declared as Declared<unknown>, room);
  const { everyTool, ...offer } = selectOffer(config, joinOffers([ofCore, ofFeatures]));
  const judged = (tool: Tool): Tool => judge?.calls.judgeTool(tool) ?? tool;
  const watch = (tool: Tool): Tool => auditTool(judged(traceTool(tool, tracing)), audit);
  const watched = new Map(everyTool.map((tool) => [tool, watch(tool)]));
  const ownNames = new Set(everyTool.map(({ name }) => name));
  const tools = offer.tools.map((tool) => watched.get(tool)!);
  return { offer: { ...offer, tools }, ownNames, ownToolbox: createOwnToolbox([...watched.values()]) };
}

/** Every feature of the list, each with its own settings. */
async function openAllFeatures(
  { config, audit, metrics, clock, log }: AppContext,
  { files, links, uploads, webhook, database }: Stores,
  { executions, runProgram, sessions, artifacts, places }: CodeRunner,
  { brought, ...around }: AroundFeatures & { readonly toolbox: Toolbox },
  declared: readonly DeclaredFeature[],
) {
  const terms = toTerms(config);
  const groups = chooseGroups(readToolGroups(config));
  const folders = { data: config.data, tools: config.toolsPath, skills: config.skillsPath };
  const offersGroup = (group: string): boolean => groups.has(group);
  const { exported } = webhook;
  const rooms = {
    files,
    links,
    uploads,
    exported,
    executions,
    runProgram,
    sessions,
    artifacts,
    places,
    database,
    audit,
  };
  const library = () => brought.library ?? null;
  const core = { ...around, ...rooms, library, terms, offersGroup, folders, metrics, clock, log };
  return openFeatures(declared, core, config, brought);
}

/** MCP_HOST used to be the address to listen on, and still is for other servers. */
function warnOfLinkHost({ linkHost, publicUrl }: Config, log: Log): void {
  if (publicUrl !== null || linkHost === null || !isWildcard(linkHost)) return;
  log.warn('config.link_host_wildcard', { link_host: linkHost, links: 'localhost', listen_by: '--host' });
}

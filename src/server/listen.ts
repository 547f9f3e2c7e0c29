/**
 * Puts HTTP together: authentication, rate limit, routes, `/mcp`, `/readyz`, and the listener. It has no route of its
 * own: those are in the rooms, and the order in which they are tried is here.
 */
import { randomBytes } from 'node:crypto';
import type { Server } from 'node:http';
import { createArtifactRoutes } from '../core/artifacts/route.ts';
import { auditSignIns } from '../core/audit/sign-ins.ts';
import { auditDownloads, auditTokens, auditUploads } from '../core/audit/transfers.ts';
import { auditRequests } from '../core/audit/wrappers.ts';
import { crates as cratesFeature } from '../features/crates/feature.ts';
import { createCrateViews } from '../features/crates/views.ts';
import { createExecutionRoutes } from '../core/runs/route.ts';
import { createApp } from '../surfaces/http/app.ts';
import { createAuth, createResourceMetadata } from '../surfaces/http/auth.ts';
import { createClientAddress } from '../surfaces/http/client-address.ts';
import { createHostOriginCheck } from '../surfaces/http/host-origin.ts';
import { createPageCookies } from '../surfaces/http/page-cookie.ts';
import { createPageSignIn } from '../surfaces/http/page-sign-in.ts';
import type { ReservedPort } from '../surfaces/http/port.ts';
import { createGuessRateLimit } from '../surfaces/http/rate-limit.ts';
import { createHttpServer, listenOn } from '../surfaces/http/server.ts';
import { createSignInStates } from '../surfaces/http/sign-in-state.ts';
import { localCaller, type Caller } from '../core/identity.ts';
import { startHistory, type MetricsHistory } from '../platform/observability/history.ts';
import { meterSignIns } from './instrumentation/instrumentation.ts';
import { createDownloadRoute, type DownloadRouteOptions } from '../core/links/download-route.ts';
import { createOffload } from '../core/links/offload.ts';
import { createUploadRoute } from '../core/links/upload-routes.ts';
import { createMcpEndpoint } from '../surfaces/mcp/http.ts';
import type { Tasks } from '../surfaces/mcp/tasks/tasks.ts';
import type { Tool } from '../core/offer/tool.ts';
import type { Upstream } from '../core/offer/upstream.ts';
import type { Toolbox } from '../core/offer/toolbox.ts';
import type { createServerFactory } from '../surfaces/mcp/server.ts';
import { createPageRoutes, isPage } from '../surfaces/pages/pages.ts';
import { createPreviews, type Previews } from '../platform/previews/previews.ts';
import { openUsers } from '../core/users/users.ts';
import { listConnectLines } from './connect-lines.ts';
import type { CallControl } from './call-control.ts';
import type { AppContext } from './context.ts';
import type { TokenRoute } from '../core/feature.ts';
import type { CodeRunner } from './execution.ts';
import { getLinkBase } from './link-base.ts';
import type { OpenFeatures } from './open-features.ts';
import { createOperatorAccess } from './operator.ts';
import { writeServerAddress } from './server-address.ts';
import { createShutdown, type UnderWay } from './shutdown.ts';
import { createStatus, measureDiskSpace } from './status.ts';
import { createOperatorRoutes } from './status-report.ts';
import type { Stores } from './stores.ts';
import { createFolderMeter } from './user-folders.ts';
import { createUsageReader } from './user-usage.ts';

export interface ListenOptions extends AppContext {
  readonly stores: Stores;
  readonly code: CodeRunner;
  readonly features: Pick<OpenFeatures, 'listRoutes' | 'roomOf' | 'tokenRoutes'>;
  /** The tools, for clients that may be anywhere. */
  readonly factory: ReturnType<typeof createServerFactory>;
  readonly tools: readonly Pick<Tool, 'name' | 'group'>[];
  /** What servers behind this one offer. */
  readonly upstream: Upstream | undefined;
  /** All tools of callers, which the pages call, and the secret of their forms. */
  readonly toolbox: Toolbox;
  readonly formSecret: Uint8Array;
  readonly tasks: Tasks;
  readonly calls: CallControl;
  readonly port: ReservedPort;
  /** Whether the client speaks over stdio, and the server ends with it. */
  readonly endsWithClient: boolean;
  /** The address that links and tokens name, once it is known. */
  readonly baseUrl: () => string;
}

/** Opens authentication, MCP, routes and the listener: the part of the composition root for HTTP. */
export async function startListening(options: ListenOptions) {
  const { config, metrics, audit, log } = options;
  await using started = new AsyncDisposableStack();
  const instance = randomBytes(8).toString('hex');
  const access = started.use(openAuthentication(options));
  const metadataUrl = access.resource.metadataUrl;
  const mcp = createMcpEndpoint({
    factory: options.factory,
    tools: options.tools,
    upstream: options.upstream,
    tasks: options.tasks,
    metadataUrl,
    log,
  });
  const shutdown = openShutdown(options);
  const storesReady = shareReadinessCheck(
    () => options.stores.demandReady(),
    config.auth.length === 0 ? 0 : readinessFreshMs,
  );
  const ready = async (): Promise<void> => {
    await shutdown.demandGoingOn();
    await storesReady();
  };
  const { served } = started.use(auditDownloads(audit));
  const previews = started.use(createPreviews({ log }));
  const history = started.use(openHistory(options));
  const server = createHttpServer({
    app: createApp({
      mcp,
      metrics,
      auth: access.auth,
      resourceMetadata: access.resource.metadata,
      ready,
      showsReason: config.auth.length === 0,
      log,
      rooms: createRoutes(options, access, history, mcp, ready, { instance, previews }),
    }),
    byToken: await createTokenRoutes(options, { served, previews }),
    mcp,
    linksOnly: options.endsWithClient && !config.stdioHttp,
    checkHostAndOrigin: createHostOriginCheck(config.publicUrl, config.host, config.linkHost),
    ...access,
    metrics,
    tracing: options.tracing,
    log,
  });
  const url = await listenOn(server, options.port, log);
  started.defer(() => closeServer(server, shutdown.begun ? drainedMs : undrainedMs));
  started.defer(() => mcp.close());
  started.use(writeServerAddress(config.data, { url, instance, base: getLinkBase(config, url) }));
  const all = started.move();
  return { url, drain: () => shutdown.drain(server), [Symbol.asyncDispose]: () => all.disposeAsync() };
}

function openShutdown(options: ListenOptions) {
  const { config, metrics, calls, code, log } = options;
  return createShutdown({
    underWay: () => ({
      transfers: metrics.transfers.in + metrics.transfers.out,
      calls: calls.underWay.calls,
      ...countWithoutCall(options),
    }),
    delayMs: config.stopDelay * 1000,
    drainMs: config.drainTimeout * 1000,
    closed() {
      code.executions.shutdown.refuseNew();
      calls.stop();
    },
    cut: calls.cut,
    log,
  });
}

/** What goes on without its call. Over stdio nobody waits for it: the server ends with its client. */
function countWithoutCall({ code, endsWithClient }: ListenOptions): Pick<UnderWay, 'runs' | 'installs'> {
  if (endsWithClient) return { runs: 0, installs: 0 };
  return { runs: code.executions.shutdown.countUnderWay(), installs: code.packages?.countUnderWay() ?? 0 };
}

function openHistory({ config, metrics, clock, log }: ListenOptions): MetricsHistory {
  return startHistory({
    metrics,
    async measureDiskUsed() {
      const disk = await measureDiskSpace(config.data);
      return disk && disk.total_bytes - disk.free_bytes;
    },
    clock,
    log,
  });
}

/** Authentication: who may use the server, and how the others are answered. */
function openAuthentication({
  config,
  stores: { database },
  baseUrl,
  metrics,
  audit,
  clock,
  log,
  formSecret,
}: ListenOptions) {
  const known = openUsers(config, { database, clock, log, baseUrl });
  const users = known && meterSignIns(known, metrics);
  const resource = createResourceMetadata(users, baseUrl);
  const limit = () => createGuessRateLimit(config.guessLimit, clock);
  const notes = auditSignIns(audit);
  const getAddress = createClientAddress(config.trustedProxy);
  const cookies = createPageCookies({ isSecure: () => baseUrl().startsWith('https:') });
  const auth = createAuth({
    users,
    pages: { cookies, isPage },
    guesses: limit(),
    getAddress,
    terms: resource.terms,
    denied: notes.denied,
    refused: notes.refused,
    log,
  });
  const states = createSignInStates({ secret: formSecret, clock });
  return {
    auth,
    pageSignIn: createPageSignIn({ users, auth, cookies, states, getAddress, notes, clock, log }),
    /** By what people can sign in to the page. */
    ways: { key: config.auth.includes('keys'), issuer: users?.codeFlow ? config.oauthIssuer : null },
    guesses: limit(),
    getAddress,
    resource,
    [Symbol.asyncDispose]: async () => users?.[Symbol.asyncDispose](),
  };
}

/** The routes of rooms, in the order in which they are tried. */
function createRoutes(
  { config, metrics, audit, clock, log, stores, code, features, baseUrl, toolbox, formSecret }: ListenOptions,
  { auth, pageSignIn, ways }: ReturnType<typeof openAuthentication>,
  history: MetricsHistory,
  mcp: ReturnType<typeof createMcpEndpoint>,
  ready: () => Promise<void>,
  { instance, previews }: { readonly instance: string; readonly previews: Previews },
) {
  const { executions, keptResults, sessions, artifacts, occupancy, where: codeRunsIn } = code;
  const { database, server, links } = stores;
  const { crates } = features.roomOf(cratesFeature);
  const storageKind = stores.storage.kind;
  const statusOptions = {
    config,
    database,
    storageKind,
    codeRunsIn,
    occupancy,
    metrics,
    instance,
    ready,
    sessions: mcp.sessions,
    clock,
  };
  const status = createStatus(statusOptions);
  const noted = auditRequests(audit);
  const callerOf = (env: unknown): Caller => auth.getCaller(env) ?? localCaller;
  const measureFolders = createFolderMeter(code.places);
  const pageOptions = { config, database, crates, measureFolders, clock };
  return [
    ...createOperatorRoutes({ status, database, metrics, mcp, baseUrl, log }),
    createExecutionRoutes({ executions, callerOf, noted, log }),
    ...features.listRoutes({ callerOf, noted, log }),
    createPageRoutes({
      toolbox,
      executions,
      keptResults,
      operatorAccess: createOperatorAccess({
        ...pageOptions,
        server,
        status,
        history,
        executions,
        links,
        audit,
      }),
      readUsage: createUsageReader(pageOptions),
      crates: createCrateViews(crates),
      sessions,
      files: stores.files,
      artifacts,
      library: { links, artifacts, previews, noted, maxTtl: config.maxTtl },
      formSecret,
      signIn: pageSignIn,
      ways,
      visitorOf: (env) => ({ caller: callerOf(env), scopes: auth.getCaller(env)?.scopes ?? null }),
      connectLines: () =>
        listConnectLines(baseUrl(), config.auth.includes('keys') ? 'YOUR_KEY' : null)
          .filter(([client]) => client !== '')
          .map(([client, how]) => ({ client, how })),
      log,
    }),
    // Last: the names of users are first in its paths.
    createArtifactRoutes({ artifacts, signedIn: auth.getCaller, noted, log }),
  ];
}

/** /files and /uploads, and those of features. */
async function createTokenRoutes(
  { config, metrics, audit, clock, log, stores, features, baseUrl }: ListenOptions,
  { served, previews }: Pick<DownloadRouteOptions, 'served' | 'previews'>,
) {
  const { storage, links, uploads, webhook } = stores;
  const idleMs = config.idleTimeout * 1000;
  const offload = await createOffload({
    downloads: config.downloads,
    from: config.redirectFrom,
    accelPrefix: config.accelPrefix,
    reportsEnds: config.webhookUrl !== null,
    storage,
    clock,
    log,
  });
  const { completed } = webhook;
  const downloads = createDownloadRoute({
    links,
    metrics,
    log,
    idleMs,
    completed,
    served,
    offload,
    previews,
  });
  const uploadRoute = createUploadRoute({
    uploads: auditUploads(uploads, audit),
    metrics,
    log,
    idleMs,
    maxFileSize: config.maxFileSize,
    getUrl: (token) => `${baseUrl()}/uploads/${token}`,
  });
  const routes: Readonly<Record<string, TokenRoute>> = {
    files: { auditedAs: 'download', handle: downloads },
    uploads: { auditedAs: 'upload', handle: uploadRoute },
    ...features.tokenRoutes,
  };
  return Object.fromEntries(
    Object.entries(routes).map(([name, { auditedAs, handle }]) => [
      name,
      auditTokens(handle, auditedAs, audit),
    ]),
  );
}

const readinessFreshMs = 1000;

/**
 * Runs one readiness check at a time and shares its result, with strangers for a second longer: /readyz is open to
 * everybody, and a check costs three requests to the storage.
 */
function shareReadinessCheck(look: () => Promise<void>, freshMs: number): () => Promise<void> {
  let last: { readonly looked: Promise<void>; endedAt: number } | null = null;
  return () => {
    if (last !== null && performance.now() - last.endedAt < freshMs) return last.looked;
    const looked = look();
    const mine = { looked, endedAt: Number.POSITIVE_INFINITY };
    last = mine;
    const end = (): void => void (mine.endedAt = performance.now());
    looked.then(end, end);
    return looked;
  };
}

const drainedMs = 100;
const undrainedMs = 5000;

/** Refuses new connections at once; transfers that are left get a moment to end. */
async function closeServer(server: Server, lateMs: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  // A connection that falls idle later would otherwise be kept alive until the end of the drain.
  const idle = setInterval(() => server.closeIdleConnections(), 50);
  const late = setTimeout(() => server.closeAllConnections(), lateMs);
  await promise;
  clearInterval(idle);
  clearTimeout(late);
}

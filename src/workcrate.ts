import type { Server } from 'node:http';
import { artifactRoutes } from './artifacts/route.ts';
import type { Clock } from './clock.ts';
import type { Config } from './config.ts';
import { lockFolder } from './data-folder.ts';
import type { Database } from './database/database.ts';
import { openDatabase } from './database/open.ts';
import { createDraining } from './draining.ts';
import { WorkcrateError } from './errors.ts';
import { executionRoutes } from './executions/route.ts';
import { createFiles } from './files/files.ts';
import { demandSameStore } from './files/store-id.ts';
import { createLocalFiles } from './files/local-files.ts';
import { localCaller } from './identity.ts';
import { createDownloadRoute } from './links/download-route.ts';
import { createHandOver } from './links/hand-over.ts';
import { createLinks, createUploads, createWebhook, dropLeases } from './links/links.ts';
import { createUploadRoute } from './links/upload-route.ts';
import { createLog, type Log } from './log.ts';
import { createMcpEndpoint } from './mcp/http.ts';
import { createServerFactory } from './mcp/server.ts';
import { selectTools } from './mcp/tools.ts';
import { createMetrics } from './metrics.ts';
import { openStorage } from './storage/open.ts';
import { startRunning } from './running.ts';
import { databaseLocation, storageOptions } from './stores.ts';
import { startSweeper } from './sweeper.ts';
import { openUsers } from './users/open.ts';
import { createApp } from './web/app.ts';
import { createGate } from './web/gate.ts';
import { createGuessLimit } from './web/guess-limit.ts';
import { createResource } from './web/resource.ts';
import { createWebServer, listen } from './web/server.ts';
import { createNameCheck, isLoopback } from './web/trusted-names.ts';

export interface Lane {
  /** Whether the client runs on this machine under the same user (stdio). */
  readonly sharesMachine: boolean;
  readonly log?: Log;
}

export type Workcrate = Awaited<ReturnType<typeof startWorkcrate>>;

/** The composition root: config → database, storage → rooms → app. Nothing else constructs a backend. */
export async function startWorkcrate(config: Config, lane: Lane) {
  refuseOpenBind(config);
  await using started = new AsyncDisposableStack();
  const log = lane.log ?? createLog(config.logLevel);
  const clock = Date.now;
  const metrics = createMetrics();

  started.use(lockFolder(config.data));
  const store = storageOptions(config);
  if (store.kind === 'disk' && store.directory !== config.data) started.use(lockFolder(store.directory));
  const database = await openDatabase(databaseLocation(config));
  started.defer(() => database.close());
  const storage = await openStorage(store);
  started.defer(() => storage.close());

  const files = createFiles({
    database,
    storage,
    quotas: quotasOf(config),
    maxFileSize: config.maxFileSize,
    clock,
    log,
  });
  const { uploadTtl, maxBundleFiles } = config;
  const rooms = { database, storage, files, uploadTtl, maxBundleFiles, clock, log };
  const links = createLinks(rooms);
  const uploads = createUploads(rooms);
  const webhook = createWebhook({
    database,
    url: config.webhookUrl,
    secret: config.webhookSecret,
    clock,
    log,
  });
  started.defer(() => webhook.close());
  started.defer(() => links.flush());

  if (database.kind === 'sqlite') await dropLeases(database);
  await demandSameStore(database, storage);
  log.info('start.orphans_removed', { count: await files.sweepOrphans() });
  const code = await startRunning({ config, database, files, metrics, clock, log });
  const { executions, artifacts, where } = started.use(code);
  const sweeper = startSweeper({
    files,
    links,
    uploads,
    executions,
    metrics,
    log,
    intervalSeconds: config.sweepInterval,
  });
  started.use(sweeper);
  void sweeper.sweepSoon();

  let url = '';
  const baseUrl = (): string => config.publicUrl ?? url;
  const localFiles = createLocalFiles({ files, roots: config.shareRoots, log });
  const { fileTtl, maxTtl } = config;
  const [timeoutMs, maxTimeoutMs] = [config.runTimeout * 1000, config.runMaxTimeout * 1000];
  const offered = { files, links, uploads, localFiles, executions, artifacts };
  const terms = { fileTtl, maxTtl, timeoutMs, maxTimeoutMs, linkSeconds: fileTtl, baseUrl };
  const tools = selectTools({ ...offered, ...terms }, config.tools);
  const extend = config.conformance ? (await import('./mcp/conformance/fixtures.ts')).addFixtures : undefined;
  const underWay = { calls: 0 };
  const factoryFor = (sharesMachine: boolean) =>
    createServerFactory({ tools, metrics, log, sharesMachine, caller: localCaller, underWay, extend });
  const factory = factoryFor(lane.sharesMachine);

  const { gate, guesses, resource } = started.use(openGate(config, { database, baseUrl, clock, log }));
  const mcp = createMcpEndpoint({ factory: factoryFor(false), metadataUrl: resource.metadataUrl, log });

  const idleMs = config.idleTimeout * 1000;
  const sendfile = config.sendfile === 'auto';
  const handOver = await createHandOver({
    downloads: config.downloads,
    from: config.redirectFrom,
    accelPrefix: config.accelPrefix,
    reportsEnds: config.webhookUrl !== null,
    storage,
    clock,
    log,
  });
  const completed = webhook.completed;
  const server = createWebServer({
    app: createApp({
      mcp,
      metrics,
      gate,
      resourceMetadata: resource.metadata,
      ready: async () => {
        await draining.demandGoingOn();
        await ready(database, storage);
      },
      rooms: [
        executionRoutes({ executions, callerOf: (env) => gate.who(env) ?? localCaller, log }),
        // Last: the names of users are first in its paths.
        artifactRoutes({ artifacts, signedIn: gate.who, log }),
      ],
    }),
    downloads: createDownloadRoute({ links, metrics, log, sendfile, idleMs, completed, handOver }),
    uploads: createUploadRoute({
      uploads,
      metrics,
      log,
      idleMs,
      maxFileSize: config.maxFileSize,
      urlOf: (token) => `${baseUrl()}/uploads/${token}`,
    }),
    checkNames: createNameCheck(config.publicUrl, config.host),
    gate,
    guesses,
    metrics,
    log,
  });
  const draining = createDraining({
    server,
    busy: () => metrics.transfers.in + metrics.transfers.out + underWay.calls,
    delayMs: config.stopDelay * 1000,
    drainMs: config.drainTimeout * 1000,
  });
  url = await listen(server, config.host, config.port, log);
  started.defer(() => closeServer(server, draining.begun ? drainedMs : undrainedMs));
  started.defer(() => mcp.close());
  const all = started.move();
  return {
    url,
    factory,
    log,
    codeRunsIn: where,
    drain: draining.drain,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

interface Ground {
  readonly database: Database;
  readonly baseUrl: () => string;
  readonly clock: Clock;
  readonly log: Log;
}

/** Who may come in, and what those who may not are told. */
function openGate(config: Config, { baseUrl, ...ground }: Ground) {
  const users = openUsers(config, { ...ground, resource: () => `${baseUrl()}/mcp` });
  const guesses = createGuessLimit(config.guessLimit, ground.clock);
  const resource = createResource(users, baseUrl);
  const gate = createGate({ users, guesses, terms: resource.terms, log: ground.log });
  return { gate, guesses, resource, [Symbol.asyncDispose]: async () => users?.[Symbol.asyncDispose]() };
}

function refuseOpenBind({ host, auth }: Config): void {
  if (isLoopback(host) || auth.length > 0) return;
  throw new WorkcrateError(
    'bind_refused',
    `Workcrate does not listen on ${host}: without --auth, anyone who can reach it could use it. Have callers sign in ` +
      'with --auth keys (workcrate user add NAME gives a key). Or: Listen on 127.0.0.1 and put a proxy with ' +
      'authentication in front; --public-url then makes the links point at that.',
  );
}

function quotasOf(config: Config) {
  return {
    userBytes: config.quotaUserBytes,
    userFiles: config.quotaUserFiles,
    totalBytes: config.quotaTotalBytes,
    totalFiles: config.quotaTotalFiles,
  };
}

async function ready(
  database: Awaited<ReturnType<typeof openDatabase>>,
  storage: Awaited<ReturnType<typeof openStorage>>,
): Promise<void> {
  // A write that changes nothing: a database that can only be read is not ready.
  await database.query("UPDATE usage SET bytes = bytes WHERE owner = '*'");
  await storage.probe();
}

const drainedMs = 100;
const undrainedMs = 5000;

/** New connections are refused at once; what is left of transfers gets a moment to end. */
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

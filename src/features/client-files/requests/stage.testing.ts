import { once } from 'node:events';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { getRequestListener } from '@hono/node-server';
import type { ClientCapabilities, InputResponseView } from '@modelcontextprotocol/server';
import type { Audit, AuditEvent } from '../../../core/audit/audit.ts';
import { openDatabase } from '../../../ports/database/open.ts';
import { asWorkcrateError } from '../../../platform/errors.ts';
import { createFiles } from '../../../core/files/files.ts';
import { answerError } from '../../../platform/http/answer.ts';
import { localCaller } from '../../../core/identity.ts';
import { createLinks, createUploads } from '../../../core/links/links.ts';
import { openUploads } from '../../../core/links/open-uploads.ts';
import { createUploadRoute } from '../../../core/links/upload-routes.ts';
import { createMcpEndpoint } from '../../../surfaces/mcp/http.ts';
import { createServerFactory } from '../../../surfaces/mcp/server.ts';
import type { ToolContext } from '../../../core/offer/tool.ts';
import { createLog } from '../../../platform/observability/log.ts';
import { createMetrics } from '../../../platform/observability/metrics.ts';
import { memoryStorage } from '../../../ports/storage/memory.ts';
import { createCache } from '../cache/cache.ts';
import { createClientFiles, createFilesystemChallenges, type ClientFilesOptions } from '../client-files.ts';
import { createAskRoute } from '../page.ts';
import { declareListTool } from '../tools/list.ts';
import { createLargeAnswers, declareReadTool } from '../tools/read.ts';
import { bindTool } from '../../../core/offer/tool.ts';

const quotas = { userBytes: 1e9, userFiles: 1e6, totalBytes: 1e9, totalFiles: 1e6 };

/** The room behind a real HTTP server, a project of a client's, and a clock that tests turn. */
export async function stage(more: Partial<ClientFilesOptions> = {}) {
  await using opened = new AsyncDisposableStack();
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'workcrate-bridge-')));
  opened.defer(() => rmSync(home, { recursive: true }));
  const project = join(home, 'project');
  mkdirSync(join(project, 'docs'), { recursive: true });
  const time = { now: 1_790_000_000_000 };
  const [clock, log, metrics] = [() => time.now, createLog('off'), createMetrics()];
  const database = opened.adopt(await openDatabase(':memory:'), (it) => it.close());
  const ground = { database, storage: memoryStorage(), clock, log };
  const files = createFiles({ ...ground, openUploads, quotas, maxFileSize: 1e8 });
  const rooms = { ...ground, files, uploadTtl: 600, maxBundleFiles: 10 };
  const [uploads, links] = [createUploads(rooms), createLinks(rooms)];
  const cache = createCache({ mostBytes: 1e8, mostEntries: 1000, clock });
  const proofs = opened.use(createFilesystemChallenges({ clock, folder: home }));
  const noted: Noted[] = [];
  let url = '';
  const baseUrl = (): string => url;
  const paths = { read: null, list: null };
  const limits = { timeoutMs: 60_000, mostBytes: 1e7 };
  const shared = { ...ground, files, uploads, cache, proofs, audit: memoryAudit(noted), paths };
  const bridge = createClientFiles({ ...shared, ...limits, root: null, baseUrl, ...more });
  const large = createLargeAnswers({ files, links, fileTtl: 600, baseUrl });
  const room = { bridge, large, clock };
  const tools = [bindTool(declareReadTool(['docs']), room), bindTool(declareListTool(['docs']), room)];
  const factory = createServerFactory({
    structured: true,
    tools,
    metrics,
    log,
    sharesMachine: false,
    caller: localCaller,
  });
  const mcp = opened.adopt(createMcpEndpoint({ factory, tools, metadataUrl: () => null, log }), (it) =>
    it.close(),
  );
  const routes = {
    uploads: createUploadRoute({ uploads, metrics, log, idleMs: 5000, maxFileSize: 1e8, getUrl: baseUrl }),
    ask: createAskRoute(bridge),
  };
  const viaMcp = getRequestListener((request) => mcp.fetch(request, null));
  const answer = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const [, room = '', token = ''] = req.url!.split('/');
    if (room === 'mcp') return viaMcp(req, res);
    try {
      await routes[room as keyof typeof routes](req, res, token);
    } catch (error) {
      answerError(res, asWorkcrateError(error));
    }
  };
  const server = opened.use(createServer((req, res) => void answer(req, res)).listen(0, '127.0.0.1'));
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const all = opened.move();
  return {
    bridge,
    tools,
    cache,
    files,
    noted,
    time,
    url,
    home,
    project,
    put(path: string, content: string | Uint8Array) {
      mkdirSync(dirname(join(project, path)), { recursive: true });
      writeFileSync(join(project, path), content);
    },
    [Symbol.asyncDispose]() {
      server.closeAllConnections();
      return all.disposeAsync();
    },
  };
}

type Noted = Omit<AuditEvent, 'level'> & { readonly level?: string; readonly kind?: string };

function memoryAudit(noted: Noted[]): Audit {
  return {
    note: (event) => void noted.push(event),
    noteSoon: (event) => void noted.push(event),
    violation: (event, kind) => noted.push({ ...event, kind, level: 'warning' }),
    synced: async () => {},
    flush: async () => {},
    [Symbol.asyncDispose]: async () => {},
  };
}

/** One for all calls of a user. */
const connections = new Map<string, object>();
const connectionOf = (user: string): object => connections.getOrInsert(user, {});

/** A call, as a tool's handler knows it. */
export function call(
  capabilities: ClientCapabilities = {},
  more: {
    readonly state?: Readonly<Record<string, unknown>>;
    readonly answer?: InputResponseView;
    readonly sharesMachine?: boolean;
    readonly user?: string;
  } = {},
): ToolContext {
  const { state = null, answer = { kind: 'missing' }, sharesMachine = false, user = 'ann' } = more;
  return {
    caller: { user },
    signal: AbortSignal.timeout(60_000),
    stopping: new AbortController().signal,
    client: { name: 'tests 1', connection: connectionOf(user), capabilities, answer: () => answer, state },
    sharesMachine,
    mayUse: () => true,
    task: null,
    canWait: true,
    progress: () => {},
  };
}

import { randomUUID } from 'node:crypto';
import {
  WebStandardStreamableHTTPServerTransport,
  type AuthInfo,
  type McpServer,
  type McpServerFactory,
  type Server,
} from '@modelcontextprotocol/server';
import type { Log } from '../log.ts';
import { batchRefused } from './batches.ts';
import { endCancelled } from './cancelled.ts';
import { createEventStores } from './event-store.ts';

interface Session {
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly server: McpServer | Server;
  /** What its client may have missed. */
  readonly events: Disposable;
  /** Who opened it; null where nobody has to sign in. Nobody else finds it. */
  readonly owner: string | null;
  usedAt: number;
}

const mostSessions = 1000;
/** So that nobody who has signed in can take the sessions of all others away. */
const mostOfOne = 100;
const idleMs = 60 * 60 * 1000;

interface Delivered {
  readonly authInfo?: AuthInfo;
  /** What the request brings, where it has been read already. */
  readonly parsedBody?: unknown;
}

export interface SessionLane {
  fetch(request: Request, owner: string | null, delivered: Delivered): Promise<Response>;
  count(): number;
  close(): Promise<void>;
}

/**
 * Serves clients of MCP 2025-11-25 and 2025-06-18 with sessions: without one, neither cancellation nor a
 * question to the client could find its way.
 */
export function createSessionLane(factory: McpServerFactory, log: Log): SessionLane {
  const sessions = new Map<string, Session>();
  const stores = createEventStores();
  const timer = setInterval(
    () => closeWhere((session) => Date.now() - session.usedAt > idleMs),
    60_000,
  ).unref();

  function closeWhere(judge: (session: Session) => boolean): void {
    for (const [id, session] of sessions) if (judge(session)) close(id, session);
  }

  function forget(id: string): void {
    sessions.get(id)?.events[Symbol.dispose]();
    sessions.delete(id);
  }

  function close(id: string, { server }: Session): void {
    forget(id);
    server.close().catch((error: unknown) => log.warn('session.close_failed', { error }));
  }

  async function start(request: Request, owner: string | null, delivered: Delivered): Promise<Response> {
    const events = stores.open();
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      eventStore: events,
      retryInterval: 1000,
      onsessioninitialized(id) {
        makeRoom(owner);
        sessions.set(id, { transport, server, events, owner, usedAt: Date.now() });
      },
      onsessionclosed: forget,
    });
    transport.onerror = (error) => log.debug('mcp.rejected', { error });
    const server = await factory({
      era: 'legacy',
      requestInfo: request,
      ...(delivered.authInfo === undefined ? {} : { authInfo: delivered.authInfo }),
    });
    await server.connect(transport);
    endCancelled(transport, log);
    const response = await transport.handleRequest(request, delivered);
    // Anything but a handshake was refused, and no session came of it.
    if (transport.sessionId === undefined) {
      events[Symbol.dispose]();
      await server.close();
    }
    return response;
  }

  /** The session used least lately gives way, so that abandoned ones cannot shut out new clients. */
  function makeRoom(owner: string | null): void {
    const own = owner === null ? [] : [...sessions].filter(([, session]) => session.owner === owner);
    if (own.length >= mostOfOne) closeOldest(own);
    else if (sessions.size >= mostSessions) closeOldest([...sessions]);
  }

  function closeOldest(among: [string, Session][]): void {
    const [oldest] = among.sort(([, a], [, b]) => a.usedAt - b.usedAt);
    if (oldest) close(...oldest);
  }

  return {
    async fetch(request, owner, delivered) {
      if (Array.isArray(delivered.parsedBody)) {
        log.info('mcp.batch_refused', { user: owner });
        return batchRefused();
      }
      const id = request.headers.get('mcp-session-id');
      if (id === null) return start(request, owner, delivered);
      const session = sessions.get(id);
      if (!session || session.owner !== owner) return unknownSession();
      session.usedAt = Date.now();
      return session.transport.handleRequest(request, delivered);
    },
    count: () => sessions.size,
    async close() {
      clearInterval(timer);
      closeWhere(() => true);
    },
  };
}

/** 404 tells a client to start a new session, as after a restart of the server. */
function unknownSession(): Response {
  const error = { code: -32_001, message: 'Session not found. Initialize a new one.' };
  return Response.json({ jsonrpc: '2.0', id: null, error }, { status: 404 });
}

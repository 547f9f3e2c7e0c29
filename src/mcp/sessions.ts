import { randomUUID } from 'node:crypto';
import {
  WebStandardStreamableHTTPServerTransport,
  type McpServer,
  type McpServerFactory,
  type Server,
} from '@modelcontextprotocol/server';
import type { Log } from '../log.ts';
import { createEventStore } from './event-store.ts';

interface Session {
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly server: McpServer | Server;
  usedAt: number;
}

const mostSessions = 1000;
const idleMs = 60 * 60 * 1000;

export interface SessionLane {
  fetch(request: Request): Promise<Response>;
  close(): Promise<void>;
}

/**
 * Serves clients of MCP 2025-11-25 and 2025-06-18 with sessions: without one, neither cancellation nor a
 * question to the client could find its way.
 */
export function createSessionLane(factory: McpServerFactory, log: Log): SessionLane {
  const sessions = new Map<string, Session>();
  const timer = setInterval(
    () => closeWhere((session) => Date.now() - session.usedAt > idleMs),
    60_000,
  ).unref();

  function closeWhere(judge: (session: Session) => boolean): void {
    for (const [id, session] of sessions) if (judge(session)) close(id, session);
  }

  function close(id: string, { server }: Session): void {
    sessions.delete(id);
    server.close().catch((error: unknown) => log.warn('session.close_failed', { error }));
  }

  async function start(request: Request): Promise<Response> {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      eventStore: createEventStore(),
      retryInterval: 1000,
      onsessioninitialized(id) {
        makeRoom();
        sessions.set(id, { transport, server, usedAt: Date.now() });
      },
      onsessionclosed: (id) => void sessions.delete(id),
    });
    transport.onerror = (error) => log.debug('mcp.rejected', { error });
    const server = await factory({ era: 'legacy', requestInfo: request });
    await server.connect(transport);
    const response = await transport.handleRequest(request);
    // Anything but a handshake was refused, and no session came of it.
    if (transport.sessionId === undefined) await server.close();
    return response;
  }

  /** The session used least lately gives way, so that abandoned ones cannot shut out new clients. */
  function makeRoom(): void {
    if (sessions.size < mostSessions) return;
    const [oldest] = [...sessions].sort(([, a], [, b]) => a.usedAt - b.usedAt);
    if (oldest) close(...oldest);
  }

  return {
    async fetch(request) {
      const id = request.headers.get('mcp-session-id');
      if (id === null) return start(request);
      const session = sessions.get(id);
      if (!session) return unknownSession();
      session.usedAt = Date.now();
      return session.transport.handleRequest(request);
    },
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

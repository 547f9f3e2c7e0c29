import { randomUUID } from 'node:crypto';
import {
  WebStandardStreamableHTTPServerTransport,
  type AuthInfo,
  type EventStore,
  type JSONRPCMessage,
  type McpServer,
  type McpServerFactory,
  type Server,
  type Transport,
} from '@modelcontextprotocol/server';
import type { Log } from '../../platform/observability/log.ts';
import { toRecord } from './refused-calls.ts';

interface Session {
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly server: McpServer | Server;
  /** Events that its client may have missed. */
  readonly events: SessionEvents;
  /** The user who opened it; null where authentication is off. Nobody else can use it. */
  readonly owner: string | null;
  /** How many of its calls have not been answered. */
  readonly countCalls: () => number;
  usedAt: number;
}

const maxSessions = 1000;
/** So that no user can push out the sessions of all others. */
const maxSessionsOfUser = 100;
const idleMs = 60 * 60 * 1000;

interface DeliveredRequest {
  readonly authInfo?: AuthInfo;
  /** The body, where it has been read already. */
  readonly parsedBody?: unknown;
}

export interface SessionLaneOptions {
  readonly factory: McpServerFactory;
  readonly log: Log;
  /** How often a stream on which nothing comes gets a comment. */
  readonly aliveMs: number;
}

export interface SessionLane {
  fetch(request: Request, owner: string | null, delivered: DeliveredRequest): Promise<Response>;
  count(): number;
  close(): Promise<void>;
}

/**
 * Serves clients of MCP 2025-11-25 and 2025-06-18 with sessions: without one, neither a cancellation nor a question to
 * the client could be delivered.
 */
export function createSessionLane({ factory, log, aliveMs }: SessionLaneOptions): SessionLane {
  const sessions = new Map<string, Session>();
  const stores = createEventStores();
  const timer = setInterval(
    () => closeWhere(({ usedAt, countCalls }) => Date.now() - usedAt > idleMs && countCalls() === 0),
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

  async function start(
    request: Request,
    owner: string | null,
    delivered: DeliveredRequest,
  ): Promise<Response> {
    const events = stores.open();
    const open = new Set<string | number>();
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      eventStore: events,
      retryInterval: 1000,
      keepAliveMs: aliveMs,
      onsessioninitialized(id) {
        makeRoom(owner);
        sessions.set(id, {
          transport,
          server,
          events,
          owner,
          countCalls: () => open.size,
          usedAt: Date.now(),
        });
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
    endCancelledCalls(transport, log);
    watchOpenCalls(transport, open);
    const response = await transport.handleRequest(request, delivered);
    // Anything but a handshake was refused, and no session was made.
    if (transport.sessionId === undefined) {
      events[Symbol.dispose]();
      await server.close();
    }
    return response;
  }

  /** Closes the least recently used session, so that abandoned ones cannot lock out new clients. */
  function makeRoom(owner: string | null): void {
    const own = owner === null ? [] : [...sessions].filter(([, session]) => session.owner === owner);
    if (own.length >= maxSessionsOfUser) closeOldest(own);
    else if (sessions.size >= maxSessions) closeOldest([...sessions]);
  }

  function closeOldest(among: [string, Session][]): void {
    const [oldest] = among.sort(([, a], [, b]) => a.usedAt - b.usedAt);
    if (oldest) close(...oldest);
  }

  return {
    async fetch(request, owner, delivered) {
      if (Array.isArray(delivered.parsedBody)) {
        log.info('mcp.batch_refused', { user: owner });
        return answerBatch();
      }
      const id = request.headers.get('mcp-session-id');
      if (id === null) return start(request, owner, delivered);
      const session = sessions.get(id);
      if (!session || session.owner !== owner) return answerUnknownSession();
      session.usedAt = Date.now();
      if (hasAll(request, session.events)) return new Response(null, { status: 204 });
      return session.transport.handleRequest(request, delivered);
    },
    count: () => sessions.size,
    async close() {
      clearInterval(timer);
      closeWhere(() => true);
    },
  };
}

/**
 * Whether a client asks for what follows an answer: nothing does. Older SDKs ask so after every call, and then, for what
 * they get, for another stream; 204 ends that, as it ends the attempts of an EventSource.
 */
function hasAll({ method, headers }: Request, events: SessionEvents): boolean {
  const last = method === 'GET' ? headers.get('last-event-id') : null;
  return last !== null && events.isAnswer(last);
}

/** 404 makes a client start a new session, as after a restart of the server. */
function answerUnknownSession(): Response {
  const error = { code: -32_001, message: 'Session not found. Initialize a new one.' };
  return Response.json({ jsonrpc: '2.0', id: null, error }, { status: 404 });
}

/**
 * Refuses an array of messages. No version since 2025-06-18 has those, and the SDK, which still accepts them, refuses
 * all calls of a batch because of the first that is forbidden, without a word on the others.
 */
function answerBatch(): Response {
  const message = 'Batches are not supported. Send each message in its own request.';
  const error = { code: -32_600, message };
  return Response.json({ jsonrpc: '2.0', id: null, error }, { status: 400 });
}

/** Keeps the ids of the calls that are under way: a client that waits for a long one need not ask for anything else. */
function watchOpenCalls(transport: Transport, open: Set<string | number>): void {
  const { onmessage: receive } = transport;
  const send = transport.send.bind(transport);
  transport.onmessage = (message, extra) => {
    if ('method' in message && 'id' in message) open.add(message.id);
    receive?.(message, extra);
  };
  transport.send = (message, options) => {
    if (isAnswer(message) && 'id' in message && message.id !== undefined) open.delete(message.id);
    return send(message, options);
  };
}

/** From the language server protocol: MCP has no code for this. */
const cancelledCode = -32_800;

/**
 * Ends the stream of a call that its client has cancelled. The SDK neither answers such a call nor ends its stream, so
 * that each would cost a connection for as long as the session lasts. An answer ends it, which a client that has
 * cancelled ignores: without one, the official client would reopen the stream again and again.
 */
function endCancelledCalls(transport: Transport, log: Log): void {
  const receive = transport.onmessage;
  transport.onmessage = (message, extra) => {
    receive?.(message, extra);
    if (!('method' in message) || message.method !== 'notifications/cancelled') return;
    const id = toRecord(message.params)['requestId'];
    if (typeof id !== 'string' && typeof id !== 'number') return;
    const error = { code: cancelledCode, message: 'The call was cancelled.' };
    // The stream has ended already where the call has been answered.
    transport
      .send({ jsonrpc: '2.0', id, error })
      .catch((cause: unknown) => log.debug('mcp.rejected', { error: cause }));
  };
}

const maxSessionEvents = 256;
const maxSessionCharacters = 1024 * 1024;
const maxCharactersInAll = 32 * 1024 * 1024;

interface StoredEvent {
  readonly stream: string;
  readonly message: JSONRPCMessage;
  readonly size: number;
}

/** What is kept of one session. */
export interface SessionEvents extends EventStore, Disposable {
  /** Whether this event was the answer to a call, after which its stream has ended. */
  isAnswer(id: string): boolean;
}

const isAnswer = (message: JSONRPCMessage): boolean => 'result' in message || 'error' in message;

/** The events of one session. */
interface KeptEvents {
  readonly events: Map<string, StoredEvent>;
  /** How many of them each stream has. */
  readonly counts: Map<string, number>;
  characters: number;
}

/**
 * The latest events of each session, so that a client that lost its stream gets what it missed. They are bounded for
 * each session and for all together, where the oldest are dropped first: two bounds over the same entries, so a bounded
 * map does not fit.
 */
export function createEventStores(most = maxCharactersInAll) {
  /** In the order in which they came. */
  const owners = new Map<string, KeptEvents>();
  let characters = 0;

  function drop(id: string, kept: KeptEvents): void {
    const { size, stream } = kept.events.get(id)!;
    kept.events.delete(id);
    const left = kept.counts.get(stream)! - 1;
    if (left === 0) kept.counts.delete(stream);
    else kept.counts.set(stream, left);
    kept.characters -= size;
    owners.delete(id);
    characters -= size;
  }

  function makeRoom(kept: KeptEvents): void {
    for (const id of kept.events.keys()) {
      if (kept.events.size <= maxSessionEvents && kept.characters <= maxSessionCharacters) break;
      drop(id, kept);
    }
    for (const [id, owner] of owners) {
      if (characters <= most) return;
      drop(id, owner);
    }
  }

  /** The events of one session, until it is disposed of. */
  function open(): SessionEvents {
    const kept: KeptEvents = { events: new Map(), counts: new Map(), characters: 0 };
    return {
      async storeEvent(stream, message) {
        // Nobody can ask for an answer without the id of an event before it. One that is alone goes without an id, since
        // older SDKs take any id for a stream to come back to.
        if (isAnswer(message) && !kept.counts.has(stream)) return '';
        const id = randomUUID();
        const size = JSON.stringify(message).length;
        kept.events.set(id, { stream, message, size });
        kept.counts.set(stream, (kept.counts.get(stream) ?? 0) + 1);
        kept.characters += size;
        owners.set(id, kept);
        characters += size;
        makeRoom(kept);
        return id;
      },
      isAnswer(id) {
        const event = kept.events.get(id);
        return event !== undefined && isAnswer(event.message);
      },
      getStreamIdForEventId: async (id) => kept.events.get(id)?.stream,
      async replayEventsAfter(lastId, { send }) {
        const stream = kept.events.get(lastId)?.stream ?? '';
        let past = false;
        for (const [id, event] of kept.events) {
          const hasContent = Object.keys(event.message).length > 0;
          if (past && event.stream === stream && hasContent) await send(id, event.message);
          past ||= id === lastId;
        }
        return stream;
      },
      [Symbol.dispose]() {
        for (const id of kept.events.keys()) drop(id, kept);
      },
    };
  }

  return { open, size: (): number => characters };
}

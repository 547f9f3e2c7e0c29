/**
 * One connection to a server behind the gateway, for one user: opens it in whichever version of MCP the server knows,
 * asks for its lists, and says in words why it failed. Which connections there are is decided in `connections.ts`.
 */
import {
  Client,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  StreamableHTTPClientTransport,
  UnauthorizedError,
  type ElicitRequest,
  type ElicitResult,
  type Prompt,
  type Resource,
  type ResourceTemplateType,
  type Tool,
} from '@modelcontextprotocol/client';
import { getErrno, isWorkcrateError, WorkcrateError } from '../../platform/errors.ts';
import type { Log } from '../../platform/observability/log.ts';
import { withoutSecrets } from '../../platform/text/secrets.ts';
import { packageVersion } from '../../platform/version.ts';
import { hideSecrets, placeForUser, type HttpPlace, type ProcessPlace, type ServerEntry } from './entry.ts';
import { ProcessTransport } from './process.ts';
import { createUpstreamFetch } from './upstream-fetch.ts';

/** What of a server can change while it runs. */
export type ListKind = 'tools' | 'prompts' | 'resources';

export interface ConnectionOptions {
  readonly entry: ServerEntry;
  readonly user: string;
  readonly inherited: Readonly<Record<string, string>>;
  /** The mark of its process. */
  readonly mark: string;
  readonly startMs: number;
  readonly graceMs: number;
  /** Ends the attempt. */
  readonly signal: AbortSignal;
  /** Whether the server is known to know no version from 2026-07-28 on. */
  readonly isOld: boolean;
  readonly changed: (kind: ListKind) => void;
  /** Answers what the server asks a person. */
  readonly asked: (params: ElicitRequest['params']) => Promise<ElicitResult>;
  readonly log: Log;
}

export interface Connection {
  readonly client: Client;
  readonly pid: number | null;
  /** Whether the server spoke a version before 2026-07-28. */
  readonly isOld: boolean;
  /** Resolves when it has ended, whoever ended it. */
  readonly ended: Promise<void>;
  isOpen(): boolean;
  listTools(): Promise<readonly Tool[]>;
  listPrompts(): Promise<readonly Prompt[]>;
  listResources(): Promise<readonly Resource[]>;
  listTemplates(): Promise<readonly ResourceTemplateType[]>;
  /** The failure of a request, in words for its caller. */
  explain(error: unknown): WorkcrateError;
  close(): Promise<void>;
}

/** How long a server may take to answer in the newest version, before it is asked in an older one. */
const serverProbeMs = 15_000;
const listMs = 30_000;
const maxListPages = 64;

/** Opens a connection. A server that ends when it is asked in a version that it does not know is started once more. */
export async function openServer(options: ConnectionOptions): Promise<Connection> {
  try {
    return await connectToServer(options);
  } catch (error) {
    if (options.isOld || !isNegotiationFailure(error)) throw error;
    return connectToServer({ ...options, isOld: true });
  }
}

const isNegotiationFailure = (error: unknown): boolean =>
  error instanceof WorkcrateError &&
  error.cause instanceof SdkError &&
  error.cause.code === SdkErrorCode.EraNegotiationFailed;

async function connectToServer(options: ConnectionOptions): Promise<Connection> {
  const { entry, startMs, signal, isOld, log } = options;
  const transport = createTransport(options);
  const client = createClient(options);
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  let isOpen = true;
  client.onclose = () => {
    isOpen = false;
    end();
  };
  // What is wrong with single messages: an answer to nothing, a second answer. It may quote them.
  client.onerror = (error) =>
    log.debug('gateway.message_refused', { server: entry.name, error: hideAll(entry, error.message) });
  const explain = (error: unknown, advice = ' Call again: it is opened anew.'): WorkcrateError =>
    explainServerFailure(entry, error, transport.readEnding(), advice);
  const close = async (): Promise<void> => {
    isOpen = false;
    await transport.close(client);
    end();
  };
  try {
    const prior = isOld ? { prior: { kind: 'legacy' as const } } : {};
    await client.connect(transport.transport, { timeout: startMs, signal, ...prior });
  } catch (error) {
    await close();
    throw explain(error, '');
  }
  const list = async <T>(ask: () => Promise<T>): Promise<T> => {
    try {
      return await ask();
    } catch (error) {
      throw explain(error);
    }
  };
  const terms = { timeout: listMs, cacheMode: 'refresh' as const };
  const has = (kind: ListKind): boolean => client.getServerCapabilities()?.[kind] !== undefined;
  return {
    client,
    pid: transport.readPid(),
    isOld: client.getProtocolEra() !== 'modern',
    ended,
    isOpen: () => isOpen,
    listTools: async () =>
      has('tools') ? list(async () => (await client.listTools(undefined, terms)).tools) : [],
    listPrompts: async () =>
      has('prompts') ? list(async () => (await client.listPrompts(undefined, terms)).prompts) : [],
    listResources: async () =>
      has('resources') ? list(async () => (await client.listResources(undefined, terms)).resources) : [],
    listTemplates: async () =>
      has('resources')
        ? list(async () => (await client.listResourceTemplates(undefined, terms)).resourceTemplates)
        : [],
    explain,
    close,
  };
}

function createClient({ changed, asked, isOld }: ConnectionOptions): Client {
  const onChange = (kind: ListKind) => ({
    autoRefresh: false,
    debounceMs: 100,
    onChanged: () => changed(kind),
  });
  const client = new Client(
    { name: 'workcrate', title: 'Workcrate', version: packageVersion },
    {
      capabilities: { elicitation: { form: {} } },
      ...(isOld ? {} : { versionNegotiation: { mode: 'auto', probe: { timeoutMs: serverProbeMs } } }),
      // Schemas are untrusted, and compiling or matching one can take for ever. Results are passed on as they are.
      jsonSchemaValidator: {
        getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined }),
      },
      listChanged: {
        tools: onChange('tools'),
        prompts: onChange('prompts'),
        resources: onChange('resources'),
      },
      listMaxPages: maxListPages,
    },
  );
  client.setRequestHandler('elicitation/create', async ({ params }) => asked(params));
  return client;
}

/** A transport, and what has to be known of it. */
interface OpenTransport {
  readonly transport: ProcessTransport | StreamableHTTPClientTransport;
  /** Why it ended; null where that is not known. */
  readEnding(): string | null;
  readPid(): number | null;
  close(client: Client): Promise<void>;
}

function createTransport(options: ConnectionOptions): OpenTransport {
  const place = placeForUser(options.entry.place, options.user);
  return place.kind === 'http' ? openHttpTransport(place) : createProcessTransport(place, options);
}

function createProcessTransport(place: ProcessPlace, options: ConnectionOptions): OpenTransport {
  const { entry, user, log } = options;
  const transport = new ProcessTransport({
    ...options,
    place,
    heard: (text) =>
      log.debug('gateway.server_said', { server: entry.name, user, text: hideAll(entry, text) }),
    misread: () => log.debug('gateway.line_ignored', { server: entry.name }),
  });
  return {
    transport,
    readEnding: () => transport.ending,
    readPid: () => transport.pid,
    async close(client) {
      await transport.close();
      await client.close();
    },
  };
}

function openHttpTransport({ url, headers }: HttpPlace): OpenTransport {
  let ending: string | null = null;
  const transport: StreamableHTTPClientTransport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers },
    fetch: createUpstreamFetch((why) => {
      ending = why;
      transport.close().catch(() => {});
    }),
    reconnectionOptions: {
      maxRetries: 3,
      initialReconnectionDelay: 1000,
      maxReconnectionDelay: 30_000,
      reconnectionDelayGrowFactor: 2,
    },
  });
  return {
    transport,
    readEnding: () => ending,
    readPid: () => null,
    async close(client) {
      // A server that has gone cannot be told; nobody waits for one that does not answer.
      const told = transport.sessionId === undefined ? null : transport.terminateSession().catch(() => {});
      await Promise.race([told, new Promise((resolve) => setTimeout(resolve, maxGoodbyeMs).unref())]);
      await client.close();
    },
  };
}

const maxGoodbyeMs = 1000;
const maxShownFailure = 500;

/** A text of a server, for the log: without secrets, and not longer than a line. */
const hideAll = (entry: ServerEntry, text: string): string =>
  withoutSecrets(hideSecrets(entry, text.slice(0, 10 * maxShownFailure))).slice(0, maxShownFailure);

/** Some servers answer 400 to a session that they do not know, in place of the 404 of the protocol. */
const lostStatuses: ReadonlySet<number> = new Set([400, 404]);

/** Whether the server has forgotten the session, so that the request was not carried out. */
export const isLostSession = (error: unknown): boolean =>
  isWorkcrateError(error, 'upstream_failed') &&
  error.cause instanceof SdkHttpError &&
  lostStatuses.has(error.cause.status);

/** Whether the server could not be reached: one that has been started again does not know the connection. */
export const isServerLost = (error: unknown): boolean =>
  isWorkcrateError(error, 'upstream_failed') && error.cause instanceof TypeError;

/** Neither an address nor anything that the server wrote is in it, but for errors of the protocol, which are for callers. */
function explainServerFailure(
  entry: ServerEntry,
  error: unknown,
  ending: string | null,
  advice: string,
): WorkcrateError {
  if (error instanceof WorkcrateError) return error;
  const who = `The server ${entry.name} behind the gateway`;
  const fail = (why: string): WorkcrateError =>
    new WorkcrateError('upstream_failed', `${who} ${why}`, { cause: error });
  if (error instanceof ProtocolError) return fail(`refused the request: ${hideAll(entry, error.message)}`);
  if (error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout)
    return new WorkcrateError(
      'upstream_timeout',
      `${who} did not answer in time. Try again, or ask for less.`,
      { cause: error },
    );
  if (
    error instanceof UnauthorizedError ||
    (error instanceof SdkHttpError && [401, 403].includes(error.status))
  )
    return fail('refuses our credentials. The operator has to correct its "headers" in the gateway file.');
  if (error instanceof SdkHttpError && error.status === 404)
    return fail('does not know the session or the address (404). The operator can look at its "url".');
  if (error instanceof SdkHttpError)
    return fail(`answered with the HTTP status ${error.status}. Try again later.`);
  if (ending !== null) return fail(`${ending}.${advice}`);
  // Of the schemas that the SDK checks messages by.
  if (error instanceof RangeError) return fail('gave an answer that is nested too deeply. Ask for less.');
  if (error instanceof SdkError && error.code === SdkErrorCode.InvalidResult)
    return fail('gave an answer that is not valid MCP. Tell the operator.');
  const errno = getErrno(error) ?? getErrno((error as Error).cause);
  return fail(
    `cannot be reached${errno === null ? '' : ` (${errno})`}. Try again later, or tell the operator.`,
  );
}

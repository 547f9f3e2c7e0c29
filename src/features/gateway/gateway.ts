/**
 * The door: other MCP servers behind this one, as one toolbox and one source of resources and prompts. It finds whose a
 * name is, asks that server on the connection of the caller, and notes each call in the audit log. Which servers there
 * are comes from a file, which is read again when it changes.
 */
import type { Audit } from '../../core/audit/audit.ts';
import { asWorkcrateError, isWorkcrateError } from '../../platform/errors.ts';
import { toErrorResult, type ToolContext } from '../../core/offer/tool.ts';
import { toolNotFoundError, type Toolbox } from '../../core/offer/toolbox.ts';
import { upstreamGroup, type Upstream } from '../../core/offer/upstream.ts';
import type { Log } from '../../platform/observability/log.ts';
import { createCalls, type CallTool } from './calls.ts';
import type { GatewayTool } from './catalog.ts';
import { createChanges } from './changes.ts';
import { Connections, type ConnectionsOptions } from './connections.ts';
import { createContents } from './contents.ts';
import { createDirectory, type Directory } from './directory.ts';
import type { ServerEntry } from './entry.ts';
import { readOfferedUri } from './names.ts';
import type { Pins, SeenDefinition } from './pins.ts';
import { reportServer, type ServerReport } from './report.ts';
import { watchFileChanges, readServerFile, type ReadOptions } from './server-file.ts';
import { toUpstreamTool } from './upstream-tool.ts';

export { readServerFile } from './server-file.ts';

export interface GatewayOptions
  extends ReadOptions, Pick<ConnectionsOptions, 'inherited' | 'idleMs' | 'mostConnections'> {
  readonly file: string;
  readonly pins: Pins;
  /** Names of our own tools, which no server can take. */
  readonly ownTools: () => ReadonlySet<string>;
  readonly audit: Pick<Audit, 'note'>;
  /** How long a person has to answer what a server asks. */
  readonly askMs: number;
  readonly log: Log;
}

export interface Gateway extends AsyncDisposable {
  readonly toolbox: Toolbox;
  readonly upstream: Upstream;
  /** Asks every server, as one user, whether it answers. */
  report(user: string): Promise<readonly ServerReport[]>;
  /** How many connections are open. */
  countConnections(): number;
}

/** Opens the gateway. No server is started before somebody needs it. A file that cannot be used is an error. */
export function openGateway(options: GatewayOptions): Gateway {
  const { file, log } = options;
  let entries = readEntries(options);
  const changes = createChanges();
  const isTaken = (name: string): string | null =>
    options.ownTools().has(name) ? 'a tool of Workcrate itself' : null;
  const connections = new Connections({
    ...options,
    isTaken,
    changed: changes.tell,
    held: (entry, user, tools) => noteHeld(options, entry, user, tools),
  });

  function reload(): void {
    try {
      entries = readEntries(options);
      connections.replaceEntries([...entries.values()]);
      log.info('gateway.reloaded', { servers: entries.size });
      for (const kind of ['tools', 'prompts', 'resources'] as const) changes.tell(kind, null);
    } catch (error) {
      // The servers that there are go on.
      log.error('gateway.not_reloaded', { why: asWorkcrateError(error).message });
    }
  }

  const watching = watchFileChanges(file, reload);
  const directory = createDirectory({ ...options, entries: () => entries, connections, changes });
  const call = createCalls({ ...options, directory });
  const findEntry = (name: string): ServerEntry | null =>
    isTaken(name) === null ? directory.findEntry(name) : null;
  return {
    toolbox: createToolbox(directory, findEntry, call),
    upstream: {
      owns: (name) => readOfferedUri(name) !== null || findEntry(name) !== null,
      listTools: async (context) => (await directory.listTools(context)).map(toListedServer),
      async findTool(name, context) {
        const entry = findEntry(name);
        const shown = entry === null ? null : await nameForCounts(directory, entry, name, context);
        return shown === null
          ? null
          : toUpstreamTool(shown, (input, about) => call(entry!, name, input, about));
      },
      ...createContents({ ...directory, entries: () => entries }),
      onChange: changes.onChange,
    },
    report: (user) =>
      Promise.all(
        [...entries.values()].map((entry) => reportServer(entry, user, { connections, directory })),
      ),
    countConnections: () => connections.count,
    async [Symbol.asyncDispose]() {
      watching[Symbol.dispose]();
      await connections[Symbol.asyncDispose]();
    },
  };
}

/** An operator has to see that a server has changed what it says. */
function noteHeld(
  { log, audit }: GatewayOptions,
  { name: server }: ServerEntry,
  user: string,
  tools: readonly SeenDefinition[],
): void {
  for (const { tool, hash } of tools) {
    log.warn('gateway.tool_held', { server, tool, hash, accept: `gateway accept ${server}` });
    audit.note({
      level: 'warning',
      operation: 'gateway_definition',
      user,
      client: null,
      subject: tool,
      result: 'tool_changed',
      details: { server, hash },
    });
  }
}

/** For whoever calls tools other than by `tools/call`. */
function createToolbox(
  directory: Directory,
  findEntry: (name: string) => ServerEntry | null,
  call: CallTool,
): Toolbox {
  const find = (name: string, { mayUse }: ToolContext): ServerEntry | null =>
    mayUse(upstreamGroup) ? findEntry(name) : null;
  return {
    list: async (context) => (context.mayUse(upstreamGroup) ? directory.listTools(context) : []),
    has: async (name, context) => find(name, context) !== null,
    async call(name, input, context) {
      const entry = find(name, context);
      if (entry === null) throw toolNotFoundError(name, []);
      try {
        return await call(entry, name, input, context);
      } catch (error) {
        return toErrorResult(asWorkcrateError(error));
      }
    },
  };
}

/** The name of a tool for metrics; null where there is no such tool. What a server that is down has, is not known. */
async function nameForCounts(
  directory: Directory,
  entry: ServerEntry,
  name: string,
  context: ToolContext,
): Promise<string | null> {
  try {
    return (await directory.findTool(entry, name, context)) === null ? null : name;
  } catch (error) {
    return isWorkcrateError(error, 'tool_changed') ? name : `${entry.name}_*`;
  }
}

function readEntries({ file, log, ...options }: GatewayOptions): ReadonlyMap<string, ServerEntry> {
  const { servers, ignored } = readServerFile(file, options);
  for (const key of ignored) log.warn('gateway.key_ignored', { key });
  return new Map(servers.map((entry) => [entry.name, entry]));
}

function toListedServer({
  name,
  title,
  description,
  inputSchema,
  outputSchema,
  annotations,
  sensitive,
}: GatewayTool) {
  return {
    name,
    ...(title === null ? {} : { title }),
    description,
    inputSchema: inputSchema as { type: 'object' },
    ...(outputSchema === null ? {} : { outputSchema: outputSchema as { type: 'object' } }),
    annotations,
    ...(sensitive ? { _meta: { 'workcrate/sensitive': true } } : {}),
  };
}

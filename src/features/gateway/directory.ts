/**
 * Which tools there are for a caller, and which server a name belongs to. It opens connections to ask, and calls nothing.
 */
import { asWorkcrateError, WorkcrateError } from '../../platform/errors.ts';
import type { ToolContext } from '../../core/offer/tool.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { GatewayTool } from './catalog.ts';
import type { ServerChanges } from './changes.ts';
import type { Connections, OpenUpstream } from './connections.ts';
import type { ServerEntry } from './entry.ts';
import { findByPrefix } from './names.ts';

export interface ServerDirectoryOptions {
  readonly entries: () => ReadonlyMap<string, ServerEntry>;
  readonly connections: Connections;
  readonly changes: Pick<ServerChanges, 'tell'>;
  readonly log: Log;
}

type Ask<T> = (upstream: OpenUpstream) => Promise<T>;

export interface Directory {
  /** The server that a name belongs to. Nobody is asked. */
  findEntry(name: string): ServerEntry | null;
  /** Whether the caller may use anything of a server. */
  mayReach(entry: ServerEntry, context: ToolContext): boolean;
  use<T>(entry: ServerEntry, context: ToolContext, work: Ask<T>): Promise<T>;
  /** Asks every server for something. One that fails, or takes too long, keeps nobody from the others. */
  gather<T>(context: ToolContext, ask: Ask<readonly T[]>): Promise<T[]>;
  listTools(context: ToolContext): Promise<GatewayTool[]>;
  /** The tool that a name means; null where there is none for this caller. Rejects where it is held back. */
  findTool(entry: ServerEntry, name: string, context: ToolContext): Promise<GatewayTool | null>;
}

/** Whoever lists tools waits this long for servers that start; they are announced when they are there. */
const maxListWaitMs = 20_000;

export function createDirectory({ entries, connections, changes, log }: ServerDirectoryOptions): Directory {
  const findEntry = (name: string): ServerEntry | null => findByPrefix(entries().values(), name);
  const mayReach: Directory['mayReach'] = (entry, context) => entry.rules.mayReach(toAsker(context));
  const mayUse = (entry: ServerEntry, { nameThere }: GatewayTool, context: ToolContext): boolean =>
    entry.rules.mayUse(nameThere, toAsker(context));
  const use: Directory['use'] = (entry, { caller }, work) => connections.use(entry, caller.user, work);

  const gather: Directory['gather'] = async (context, ask) => {
    const reachable = [...entries().values()].filter((entry) => mayReach(entry, context));
    const tell = (): void => changes.tell('tools', context.caller.user);
    const asked = reachable.map(async (entry) => {
      try {
        return await waitAtMost(maxListWaitMs, use(entry, context, ask), tell);
      } catch (error) {
        log.debug('gateway.not_listed', { server: entry.name, code: asWorkcrateError(error).code });
        return [];
      }
    });
    return (await Promise.all(asked)).flat();
  };

  return {
    findEntry,
    mayReach,
    use,
    gather,
    listTools: (context) =>
      gather(context, async ({ entry, catalog }) => {
        const { tools } = await catalog.recheckTools();
        return [...tools.values()].filter(
          (tool) => findEntry(tool.name)?.name === entry.name && mayUse(entry, tool, context),
        );
      }),
    async findTool(entry, name, context) {
      if (!mayReach(entry, context)) return null;
      return use(entry, context, async ({ catalog }) => {
        let { tools, held } = await catalog.tools();
        if (held.has(name)) ({ tools, held } = await catalog.recheckTools());
        if (held.has(name)) throw heldError(entry, name);
        const tool = tools.get(name);
        return tool !== undefined && mayUse(entry, tool, context) ? tool : null;
      });
    },
  };
}

const toAsker = ({ caller, client }: ToolContext) => ({ user: caller.user, client: client.name });

const heldError = (entry: ServerEntry, name: string): WorkcrateError =>
  new WorkcrateError(
    'tool_changed',
    `The server ${entry.name} has changed what it says of ${name}, and nobody has accepted that yet. The operator can look at it with "gateway diff" and accept it with "gateway accept ${entry.name}". Go on without the tool until then.`,
  );

/** What it gives, if that comes in time; else nothing, and `late` is called when it has come after all. */
async function waitAtMost<T>(
  ms: number,
  work: Promise<readonly T[]>,
  late: () => void,
): Promise<readonly T[]> {
  let isLate = false;
  const { promise: over, resolve } = Promise.withResolvers<readonly T[]>();
  const timer = setTimeout(() => {
    isLate = true;
    resolve([]);
  }, ms);
  void work.then(
    () => isLate && late(),
    () => {},
  );
  try {
    return await Promise.race([work, over]);
  } finally {
    clearTimeout(timer);
  }
}

import type { InputResponseView } from '@modelcontextprotocol/server';
import type { Clock } from '../../clock.ts';
import { isWorkcrateError } from '../../errors.ts';
import type { Client, ToolContext } from '../../mcp/tool.ts';
import { rootLeft } from './question.ts';

export interface RootsOptions {
  /** The project's folder as it was set, for clients on this machine; null where it was not. */
  readonly root: string | null;
  /** Throws for what cannot be a project's folder. */
  readonly check: (root: string) => void;
  readonly clock: Clock;
}

/** Long where the client says when it has others; else a window may have opened another project meanwhile. */
const tellsMs = { heard: 60 * 60_000, unheard: 60_000 };

interface Told {
  readonly root: string | null;
  readonly until: number;
}

type Asked = Pick<ToolContext, 'client' | 'sharesMachine'>;

export type Roots = ReturnType<typeof createRoots>;

/** Where the client's project is, as it told, or as was set for clients on this machine. */
export function createRoots({ root, check, clock }: RootsOptions) {
  // Two windows of one person have two projects: what one told counts for its connection, or for its call.
  const byConnection = new WeakMap<object, Told>();
  const byRound = new WeakMap<Client, Told>();

  function known({ client }: Asked): string | null | undefined {
    const now = byRound.get(client);
    const left = now === undefined ? rootLeft(client) : now.root;
    if (left !== undefined || client.connection === null) return left;
    const told = byConnection.get(client.connection);
    return told && told.until > clock() ? told.root : undefined;
  }

  function remember({ client }: Asked, root: string | null): void {
    const heard = client.capabilities.roots?.listChanged === true ? 'heard' : 'unheard';
    const told = { root, until: clock() + tellsMs[heard] };
    byRound.set(client, told);
    if (client.connection !== null) byConnection.set(client.connection, told);
  }

  return {
    /** Null where nobody told. */
    of: (context: Asked): string | null => known(context) ?? (context.sharesMachine ? root : null),

    /** Whether the client has not been asked yet, and can be. */
    canAsk: (context: Asked): boolean =>
      context.client.capabilities.roots !== undefined && known(context) === undefined,

    /** Takes the first that can be a project's folder; a client that tells of none is not asked again for a while. */
    tell(context: Asked, answer: InputResponseView): void {
      const uris =
        answer.kind === 'roots'
          ? answer.roots.slice(0, 100).map((each: { uri?: unknown } | null) => each?.uri)
          : [];
      const first = uris.map((uri) => pathOf(uri, check)).find((path) => path !== null);
      remember(context, first ?? null);
    },
  };
}

/** Read by hand, since the client may be of another system than this one. */
function pathOf(uri: unknown, check: (root: string) => void): string | null {
  const url = typeof uri === 'string' ? URL.parse(uri) : null;
  if (url?.protocol !== 'file:' || !['', 'localhost'].includes(url.hostname)) return null;
  try {
    const path = decodeURIComponent(url.pathname).replace(/^\/(?=[a-z]:)/i, '');
    check(path);
    return path;
  } catch (error) {
    if (error instanceof URIError || isWorkcrateError(error, 'invalid_input')) return null;
    throw error;
  }
}

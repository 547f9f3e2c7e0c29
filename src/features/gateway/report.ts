/** How the servers behind the gateway are, for those who run it. */
import { asWorkcrateError } from '../../platform/errors.ts';
import type { Connections } from './connections.ts';
import type { Directory } from './directory.ts';
import type { ServerEntry } from './entry.ts';

export interface ServerReport {
  readonly server: string;
  /** How many it offers; null where it does not answer. */
  readonly tools: number | null;
  /** What is not offered, and why. */
  readonly refused: readonly string[];
  /** Why it does not answer. */
  readonly failure: string | null;
}

export async function reportServer(
  entry: ServerEntry,
  user: string,
  {
    connections,
    directory,
  }: { readonly connections: Connections; readonly directory: Pick<Directory, 'findEntry'> },
): Promise<ServerReport> {
  const server = entry.name;
  try {
    return await connections.use(entry, user, async ({ catalog }) => {
      const { tools, held, refused } = await catalog.tools();
      const foreign = [...tools.keys()].filter((name) => directory.findEntry(name)?.name !== server);
      const reasons = [
        ...refused,
        ...foreign.map((name) => `${name}: it belongs to another server. Give one of them another "prefix"`),
        ...[...held].map((name) => `${name}: its definition has changed. See gateway diff`),
      ];
      return { server, tools: tools.size - foreign.length, refused: reasons, failure: null };
    });
  } catch (error) {
    return { server, tools: null, refused: [], failure: asWorkcrateError(error).message };
  }
}

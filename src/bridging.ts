import { createBridge, createProofs, isOffer, type Bridge } from './bridge/bridge.ts';
import { createCache, type ClientCache } from './bridge/cache/cache.ts';
import { WorkcrateError } from './errors.ts';
import type { ReadClientFile } from './executions/tools.ts';
import type { Ground } from './ground.ts';
import type { Keeping } from './keeping.ts';
import { isQuestion } from './mcp/tool.ts';

export interface BridgingOptions extends Ground {
  readonly keeping: Pick<Keeping, 'files' | 'uploads'>;
  /** The address that links name, once it is known. */
  readonly baseUrl: () => string;
}

/** The part of the composition root that is about the client's files: cache, proofs → bridge. */
export function openBridge(options: BridgingOptions): {
  readonly bridge: Bridge;
  readonly cache: ClientCache;
  /** As was set. */
  readonly readable: readonly string[];
  readonly listable: readonly string[];
} {
  const { config, metrics, audit, clock, log, keeping, baseUrl } = options;
  const cache = createCache({
    mostBytes: config.clientCache,
    mostEntries: config.clientCacheFiles,
    clock,
  });
  metrics.watchClientCache(() => cache.statistics());
  const { clientPaths, clientListPaths } = config;
  const bridge = createBridge({
    ...keeping,
    cache,
    audit,
    proofs: createProofs({ clock }),
    root: config.clientRoot,
    paths: { read: clientPaths, list: clientListPaths.length === 0 ? null : clientListPaths },
    timeoutMs: config.clientTimeout * 1000,
    // It is held in memory.
    mostBytes: Math.min(config.maxFileSize, config.clientCache),
    baseUrl,
    clock,
    log,
  });
  return {
    bridge,
    cache,
    readable: clientPaths,
    listable: clientListPaths.length === 0 ? clientPaths : clientListPaths,
  };
}

/** For runs: an offer, which a person or a shell has to take up first, is told as what is to be done. */
export const clientFilesOf =
  ({ read }: Pick<Bridge, 'read'>): ReadClientFile =>
  async (context, path) => {
    const answer = await read({ path, amongOthers: true }, context);
    if (isQuestion(answer) || !isOffer(answer)) return answer;
    throw new WorkcrateError(
      'client_unsupported',
      `${answer.path} has to be sent first. In the project's folder, run: ${answer.command} – then make the same call again.`,
    );
  };

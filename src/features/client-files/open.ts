/**
 * Opens what reads files of the client's project: the allow-list of paths, the cache, and the methods to get a file. It
 * also gives runs their files. What a client may be asked is decided in `client-files/`.
 */
import { existsSync } from 'node:fs';
import type { Core, SettingsOf } from '../../core/feature.ts';
import type { Files } from '../../core/files/files.ts';
import { isQuestion, type ToolContext } from '../../core/offer/tool.ts';
import { readStoredBytes } from '../../core/runs/input-files.ts';
import type { ClientFilePort, RequestedClientFile } from '../../core/runs/tools.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import type { Log } from '../../platform/observability/log.ts';
import { createCache } from './cache/cache.ts';
import {
  buildSendFilesCommand,
  createClientFiles,
  createFilesystemChallenges,
  describeMethod,
  type ClientFiles,
  type ClientInstructions,
  type UnspentFile,
} from './client-files.ts';
import { checkAllowedSetting, listAbsoluteAllowed, type ProjectPaths } from './policy/policy.ts';
import { defaultClientPaths, type clientFileSettings } from './settings.ts';

type Config = SettingsOf<typeof clientFileSettings>;

/** Opens the cache and the bridge to the client. */
export function openClientBridge(
  { metrics, audit, clock, log, files, uploads, baseUrl, sharesMachine }: Core,
  config: Config,
) {
  const cache = createCache({
    mostBytes: config.clientCache,
    mostEntries: config.clientCacheFiles,
    clock,
  });
  metrics.watchClientCache(() => cache.statistics());
  const { clientPaths, clientListPaths } = config;
  const paths = { read: clientPaths, list: clientListPaths.length === 0 ? null : clientListPaths };
  const projects = config.projects.map(({ root, filesystem }) => ({ root, read: filesystem.allowed_paths }));
  for (const warning of checkClientPaths(config)) log.warn('bridge.allowed_elsewhere', { warning });
  const bridge = createClientFiles({
    files,
    uploads,
    cache,
    audit,
    // As for sharing files by their paths, which needs no proof in these folders either.
    proofs: createFilesystemChallenges({
      clock,
      trusted: [...(config.clientRoot === null ? [] : [config.clientRoot]), ...config.shareRoots],
    }),
    root: config.clientRoot,
    paths,
    projects,
    timeoutMs: config.clientTimeout * 1000,
    // It is kept in memory.
    mostBytes: Math.min(config.maxFileSize, config.clientCache),
    baseUrl,
    clock,
    log,
  });
  if (sharesMachine) logAllowedPaths(config, projects, bridge, log);
  return { bridge, cache };
}

/** Refuses allowed paths that can be right in no project, and says which allow nothing in most. */
export function checkClientPaths({ clientRoot, clientPaths, clientListPaths, projects }: Config): string[] {
  const all = [
    { root: clientRoot, read: clientPaths, list: clientListPaths.length === 0 ? null : clientListPaths },
    ...projects.map(({ root, filesystem }) => ({ root, read: filesystem.allowed_paths, list: null })),
  ];
  return [...new Set(all.flatMap(checkAllowedSetting))];
}

/**
 * Says at the start what may be read in the projects that are known, and which of it is not there. The usual folders
 * are not missed: few projects have all of them.
 */
function logAllowedPaths(
  config: Config,
  projects: readonly ProjectPaths[],
  bridge: ClientFiles,
  log: Log,
): void {
  const { clientRoot, clientPaths, shareRoots } = config;
  const isUsual = clientPaths.join() === defaultClientPaths.join();
  const named = clientRoot === null || isUsual ? [] : [{ root: clientRoot, read: clientPaths }];
  for (const { root, read } of [...named, ...projects].filter(({ root }) => existsSync(root))) {
    log.info('bridge.allowed', { root, paths: listAbsoluteAllowed(root, read) });
    bridge.warnOfMissing([root]);
  }
  const roots = shareRoots.filter((root) => !projects.some((project) => project.root === root));
  if (clientRoot === null && !isUsual && roots.length > 0) bridge.warnOfMissing(roots);
}

/** Client files as runs need them: the file, or how the client can send it. */
export function createClientFilePort(
  { demand, find, offer }: Pick<ClientFiles, 'demand' | 'find' | 'offer'>,
  files: Pick<Files, 'open'>,
  mostBytes: number,
): ClientFilePort {
  const asFile = (found: UnspentFile): RequestedClientFile => {
    const { path, rung, cached, receivedAt } = found;
    const facts = { path, rung, cached, receivedAt, source: describeMethod(rung) };
    const isStored = 'stored' in found;
    const size = isStored ? found.stored.size : found.bytes.length;
    const read = () => (isStored ? readStoredBytes(files, found.stored) : yieldOnce(found.bytes));
    return { ...facts, size, held: isStored ? 0 : size, open: () => spendAfter(read(), found.spend) };
  };
  const send = async (context: ToolContext, path: string): Promise<ClientInstructions> => {
    const answer = await offer({ path, amongOthers: true }, context);
    // Roots, which could still be asked for, are known by now.
    if (isQuestion(answer)) throw new WorkcrateError('internal', 'a question where an offer was wanted');
    return answer;
  };
  return {
    mostBytes,
    demand: (context, path) => demand(path, context),
    async find(context, wanted) {
      const answer = await find({ ...wanted, amongOthers: true }, context);
      return answer === null || isQuestion(answer) ? answer : asFile(answer);
    },
    async offer(context, paths) {
      const offers = await Promise.all(paths.map((path) => send(context, path)));
      return {
        command: buildSendFilesCommand(offers.map(({ path, uploadUrl }) => ({ path, url: uploadUrl! }))),
        pageUrls: offers.map(({ pageUrl }) => pageUrl!),
        expiresAt: Math.min(...offers.map(({ expiresAt }) => expiresAt)),
      };
    },
  };
}

/** A call that fails before it has the bytes can be made again, and has them then. */
async function* spendAfter(
  bytes: AsyncIterable<Uint8Array>,
  spend: (() => Promise<void>) | undefined,
): AsyncGenerator<Uint8Array> {
  yield* bytes;
  await spend?.();
}

async function* yieldOnce(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/**
 * Opens what lasts in a locked data folder: the database, the storage, and on them files, links and uploads. Also
 * readiness: whether all of that can be used. It runs no code and listens nowhere (`execution.ts`, `listen.ts`).
 */
import { join } from 'node:path';
import { findServerByFolder } from '../core/audit/read.ts';
import type { Brought } from '../core/feature.ts';
import { lockFolder } from '../platform/data-folder/data-folder.ts';
import { createBallast } from '../platform/data-folder/disk-ballast.ts';
import { checkSpace } from '../platform/data-folder/disk-reserve.ts';
import { openDatabase } from '../ports/database/open.ts';
import { createFiles, checkWritable, type SweptOrphans } from '../core/files/files.ts';
import { checkSameStore } from '../core/files/stored-file.ts';
import {
  meterLinks,
  meterUploads,
  instrumentDatabase,
  traceStorage,
} from './instrumentation/instrumentation.ts';
import {
  bytesGoneError,
  createLinks,
  createUploads,
  createWebhook,
  dropLeases,
  type ExternalTargets,
} from '../core/links/links.ts';
import { openUploads } from '../core/links/open-uploads.ts';
import type { Log } from '../platform/observability/log.ts';
import { openStorage } from '../ports/storage/open.ts';
import type { AppContext } from './context.ts';
import { demandReadiness } from './readiness.ts';
import { openServerId } from './server-id.ts';
import { getDatabaseLocation, getQuotas, getSqliteFolder, toStorageOptions } from '../core/store-options.ts';
import { watchPaths } from './watched-paths.ts';

export type Stores = Awaited<ReturnType<typeof openStores>>;

interface StoresOptions extends Omit<AppContext, 'audit' | 'judge'> {
  /** Whether the server ends with the client that started it. */
  readonly endsWithClient: boolean;
  /** What features bring once they are open. */
  readonly brought: Pick<Partial<Brought>, 'externalTargets'>;
}

/** Opens database, storage, files, links and uploads: the part of the composition root for what lasts. */
export async function openStores({ endsWithClient, brought, ...context }: StoresOptions) {
  const { config, metrics, tracing, clock, log } = context;
  await using started = new AsyncDisposableStack();
  const store = toStorageOptions(config);
  if (store.kind === 'disk' && store.directory !== config.data) started.use(lockFolder(store.directory));
  const onDisk = getSqliteFolder(config);
  const ballast = onDisk === null ? null : started.use(createBallast(onDisk, join(onDisk, 'ballast'), log));
  const makeRoom = (): boolean => ballast?.giveUp() ?? false;
  const opened = await openDatabase(getDatabaseLocation(config), 'main', {
    makeRoom,
    failed: (error) => log.error('database.disk_failed', { error }),
    mended: () => log.warn('database.disk_mended'),
  });
  const database = instrumentDatabase(opened, { metrics, tracing });
  started.defer(() => database.close());
  const server = await openServerId(database, config.data, findServerByFolder);
  const storage = traceStorage(await openStorage(store, metrics.storageRequest), tracing);
  started.defer(() => storage.close());

  const externalTargets: ExternalTargets = {
    async download(reference, renew) {
      if (brought.externalTargets === undefined) throw bytesGoneError();
      return brought.externalTargets.download(reference, renew);
    },
  };
  const { maxFileSize, uploadTtl, maxBundleFiles, webhookUrl, webhookSecret } = config;
  const keepsReserve = async (bytes: number): Promise<void> => {
    await storage.demandSpace?.(bytes);
    if (onDisk !== null) await checkSpace(onDisk);
  };
  const quotas = getQuotas(config);
  const files = createFiles({
    database,
    storage,
    openUploads,
    quotas,
    maxFileSize,
    clock,
    log,
    demandSpace: keepsReserve,
  });
  const { lookups } = metrics;
  const rooms = { database, storage, files, uploadTtl, maxBundleFiles, externalTargets, lookups, clock, log };
  const links = meterLinks(createLinks({ ...rooms, endsWithClient }), metrics);
  const uploads = meterUploads(createUploads(rooms), metrics);
  const webhook = createWebhook({ database, url: webhookUrl, secret: webhookSecret, clock, log });
  started.defer(() => webhook.close());
  started.defer(() => links.flush());

  if (!database.isShared) await dropLeases(database);
  await checkSameStore(database, storage);
  logOrphans(await files.sweepOrphans(), log);
  await ballast?.restore();
  const watched = watchPaths({
    same: [join(config.data, 'lock.db')],
    present: [config.data, join(config.data, 'logs')],
  });
  watched.demandUnchanged();
  const folders = [config.data, ...(store.kind === 'disk' ? [store.directory] : [])];
  const all = started.move();
  return {
    database,
    server,
    storage,
    files,
    links,
    uploads,
    webhook,
    /** Readiness: rejects while nothing can be stored. */
    async demandReady(): Promise<void> {
      watched.demandUnchanged();
      files.demandWriter();
      await demandReadiness({
        async database() {
          await database.demandWhole();
          await checkWritable(database);
        },
        storage: () => storage.probe(),
        folders,
      });
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

function logOrphans({ removed, quarantined }: SweptOrphans, log: Log): void {
  log.info('start.orphans_removed', { count: removed });
  if (quarantined === 0) return;
  log.warn('start.orphans_quarantined', {
    count: quarantined,
    because: 'the database knows none of these files, and they are more than a crash leaves: were rows lost?',
    kept_for_days: 30,
  });
}

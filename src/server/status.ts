/**
 * What `/status` answers: readiness, backends, usage, and counts since the start. It only reads; the route is in
 * `surfaces/http/app.ts`, and the database is counted in `server/instrumentation/counts.ts`.
 */
import { statfs } from 'node:fs/promises';
import { z } from 'zod';
import type { Clock } from '../platform/clock.ts';
import type { ServerConfig as Config } from './settings.ts';
import type { Database } from '../ports/database/database.ts';
import { asWorkcrateError, getErrno, isWorkcrateError, publicMessage } from '../platform/errors.ts';
import { readTotalUsage } from '../core/files/files.ts';
import { readCounts } from './instrumentation/counts.ts';
import { sumByLabel } from '../platform/observability/history.ts';
import type { Metrics } from '../platform/observability/metrics.ts';
import { packageVersion } from '../platform/version.ts';
import { describeServerPlace } from './server-id.ts';

const statusCountSchema = z.number().int().min(0);
const statusCountsSchema = z.record(z.string(), statusCountSchema);

/** What `/status` answers and `workcrate status` prints. Of the server that was asked, not of others beside it. */
export const statusShape = z.object({
  version: z.string(),
  instance: z.string().describe('Random, another one at each start'),
  server: z.string().describe('Machine and data folder of the server that answers'),
  node: z.string(),
  started_at: z.string(),
  uptime_seconds: statusCountSchema,
  ready: z.boolean(),
  not_ready_because: z.string().nullable(),
  backends: z.object({
    database: z.string(),
    storage: z.string(),
    sandbox: z.string().describe('What code runs in, or why none does'),
    auth: z.array(z.string()).describe('Empty where everybody who reaches the server may use it'),
  }),
  users: statusCountSchema.describe('Users with a key, files or a place'),
  files: z.object({
    kept: statusCountSchema,
    bytes: statusCountSchema,
    most_files: statusCountSchema,
    most_bytes: statusCountSchema,
  }),
  links: z.object({
    active: statusCountSchema.describe('At most 100,000 are counted'),
    made: statusCountsSchema.describe('Since the start, by kind'),
  }),
  executions: z.object({
    succeeded: statusCountSchema.describe('Of those whose record is kept'),
    failed: statusCountSchema,
    ended: statusCountsSchema.describe('Since the start, by reason'),
  }),
  runs: z.object({
    running: statusCountSchema,
    queued: statusCountSchema,
    warm: statusCountSchema,
    most: statusCountSchema,
  }),
  sessions: statusCountSchema.describe('Open sessions of MCP'),
  transfers: z.object({ in: statusCountSchema, out: statusCountSchema }),
  errors: statusCountsSchema.describe('Since the start, by code'),
  disk: z.object({ free_bytes: statusCountSchema, total_bytes: statusCountSchema }).nullable(),
  last_sweep: z.string().nullable(),
});

export type ServerStatus = z.output<typeof statusShape>;

export interface StatusOptions {
  readonly instance: string;
  readonly config: Config;
  readonly database: Database;
  readonly storageKind: string;
  readonly codeRunsIn: string;
  readonly metrics: Metrics;
  /** Rejects while the server cannot do its work. */
  readonly ready: () => Promise<void>;
  readonly occupancy: () => { running: number; queued: number; warm: number };
  readonly sessions: () => number;
  readonly clock: Clock;
}

/** How a server is, gathered when it is asked for. */
export function createStatus(options: StatusOptions): () => Promise<ServerStatus> {
  const { config, metrics, clock } = options;
  const startedAt = clock();
  return async () => {
    const reason = await options.ready().then(() => null, getPublicReason);
    const sweptAt = (await metrics.lastSweep.get()).values[0]?.value ?? 0;
    return {
      version: packageVersion,
      instance: options.instance,
      server: describeServerPlace(config.data),
      node: process.versions.node,
      started_at: new Date(startedAt).toISOString(),
      uptime_seconds: Math.max(0, Math.floor((clock() - startedAt) / 1000)),
      ready: reason === null,
      not_ready_because: reason,
      backends: describeBackends(options),
      ...(await readKeptCounts(options)),
      runs: { ...options.occupancy(), most: config.maxRuns },
      sessions: options.sessions(),
      transfers: { ...metrics.transfers },
      errors: await sumByLabel(metrics.errors, 'code'),
      disk: await measureDiskSpace(config.data),
      last_sweep: sweptAt === 0 ? null : new Date(sweptAt * 1000).toISOString(),
    };
  };
}

const getPublicReason = (error: unknown): string => publicMessage(asWorkcrateError(error));

function describeBackends({
  config,
  database,
  storageKind,
  codeRunsIn,
}: StatusOptions): ServerStatus['backends'] {
  return { database: database.kind, storage: storageKind, sandbox: codeRunsIn, auth: [...config.auth] };
}

/** What the database tells. Where it does not answer, `ready` says so, and these are zero. */
async function readKeptCounts({ config, database, metrics, clock }: StatusOptions) {
  const { usage, rows } = await readDatabaseCounts(database, clock(), config.auth.length > 0).catch(
    zeroIfUnavailable,
  );
  const made = await sumByLabel(metrics.linksMade, 'kind');
  const ended = await sumByLabel(metrics.executions, 'reason');
  const { quotaTotalFiles: most_files, quotaTotalBytes: most_bytes } = config;
  return {
    users: rows.users,
    files: { kept: usage.files, bytes: usage.bytes, most_files, most_bytes },
    links: { active: rows.links, made },
    executions: { succeeded: rows.succeeded, failed: rows.failed, ended },
  };
}

async function readDatabaseCounts(database: Database, now: number, asksWho: boolean) {
  return { usage: await readTotalUsage(database), rows: await readCounts(database, now, asksWho) };
}

function zeroIfUnavailable(error: unknown): Awaited<ReturnType<typeof readDatabaseCounts>> {
  if (!isWorkcrateError(error)) throw error;
  return { usage: { files: 0, bytes: 0 }, rows: { users: 0, links: 0, succeeded: 0, failed: 0 } };
}

export async function measureDiskSpace(folder: string): Promise<ServerStatus['disk']> {
  try {
    const { bavail, blocks, bsize } = await statfs(folder);
    return { free_bytes: bavail * bsize, total_bytes: blocks * bsize };
  } catch (error) {
    if (getErrno(error) !== null) return null;
    throw error;
  }
}

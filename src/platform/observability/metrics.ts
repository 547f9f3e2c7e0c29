/**
 * Every metric of `/metrics`. It only defines them: the rooms and `server/instrumentation/` count. Names and labels are a
 * contract.
 */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from '@prometheus-io/client';
import { isWorkcrateError } from '../errors.ts';
import { packageVersion } from '../version.ts';
import { sandboxMetrics } from './sandbox-metrics.ts';

export type Metrics = ReturnType<typeof createMetrics>;

/** What an operator watches, at /metrics. Labels are few and fixed: nothing that a client sends is one. */
export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry, prefix: 'workcrate_' });
  recordBuild(registers);
  return {
    registry,
    ...transferMetrics(registers),
    ...linkMetrics(registers),
    ...runMetrics(registers),
    ...sandboxMetrics(registers),
    ...storeMetrics(registers),
    ...crateMetrics(registers),
    ...clientMetrics(registers),
    ...documentMetrics(registers),
    toolCalls: new Counter({
      name: 'workcrate_tool_calls_total',
      help: 'Tool calls; the result is ok or the error code',
      labelNames: ['tool', 'result'] as const,
      registers,
    }),
    mcpRequests: new Counter({
      name: 'workcrate_mcp_requests_total',
      help: 'Requests for resources, prompts and completions; the result is ok or the error code',
      labelNames: ['method', 'result'] as const,
      registers,
    }),
    auth: new Counter({
      name: 'workcrate_auth_total',
      help: 'Keys and tokens that were checked: ok, refused, issuer_down, failed',
      labelNames: ['result'] as const,
      registers,
    }),
    errors: new Counter({
      name: 'workcrate_errors_total',
      help: 'Refused requests for files and uploads, refused hosts, origins and callers, by error code',
      labelNames: ['code'] as const,
      registers,
    }),
  };
}

function recordBuild(registers: Registry[]): void {
  const build = new Gauge({
    name: 'workcrate_build_info',
    help: 'Always 1; the labels say what runs',
    labelNames: ['version', 'node'] as const,
    registers,
  });
  build.set({ version: packageVersion, node: process.versions.node }, 1);
}

function transferMetrics(registers: Registry[]) {
  const downloads = new Counter({
    name: 'workcrate_downloads_total',
    help: 'Answers to requests for files: 200, 206, 302, 304, 412, 416, or broken',
    labelNames: ['result'] as const,
    registers,
  });
  /** Looked up once for each result, since the look-up by label costs more than the counting. */
  const counters = new Map<number | string, { inc(): void }>();
  const transfers = { in: 0, out: 0 };
  const gauge: Gauge<'direction'> = new Gauge({
    name: 'workcrate_transfers_active',
    help: 'Transfers under way, in and out',
    labelNames: ['direction'] as const,
    registers,
    collect() {
      for (const direction of ['in', 'out'] as const) gauge.set({ direction }, transfers[direction]);
    },
  });
  return {
    downloaded(result: number | 'broken'): void {
      const counter = counters.get(result) ?? downloads.labels({ result: String(result) });
      counters.set(result, counter);
      counter.inc();
    },
    downloadBytes: new Counter({
      name: 'workcrate_download_bytes_total',
      help: 'Bytes of files sent',
      registers,
    }),
    uploads: new Counter({
      name: 'workcrate_uploads_total',
      help: 'Upload requests: complete, partial, broken, refused',
      labelNames: ['result'] as const,
      registers,
    }),
    uploadBytes: new Counter({
      name: 'workcrate_upload_bytes_total',
      help: 'Bytes of files stored',
      registers,
    }),
    transfers,
  };
}

function linkMetrics(registers: Registry[]) {
  const made = new Counter({
    name: 'workcrate_links_total',
    help: 'Links created: file, bundle, upload, elsewhere (crates and files in them)',
    labelNames: ['kind'] as const,
    registers,
  });
  /** Plain numbers, since a look-up is made for every download. */
  const lookups = { hits: 0, misses: 0 };
  const looked: Counter<'result'> = new Counter({
    name: 'workcrate_link_lookups_total',
    help: 'Links looked up for downloads: hit from memory, miss from the database',
    labelNames: ['result'] as const,
    registers,
    collect() {
      looked.reset();
      looked.inc({ result: 'hit' }, lookups.hits);
      looked.inc({ result: 'miss' }, lookups.misses);
    },
  });
  return {
    linksMade: made,
    linkMade: (kind: 'file' | 'bundle' | 'elsewhere' | 'upload'): void => made.inc({ kind }),
    lookups,
  };
}

/**
 * The metrics of runs, stores, crates, clients and documents; `metrics.ts` puts all together. Values that change by
 * themselves are read when `/metrics` is asked for.
 */

type Statistics = Readonly<
  Record<'hits' | 'misses' | 'evictions' | 'invalidations' | 'entries' | 'bytes', number>
>;

function clientMetrics(registers: Registry[]) {
  return {
    /** Shows what is remembered of the client's files whenever somebody asks. */
    watchClientCache(statistics: () => Statistics): void {
      const cache: Gauge<'what'> = new Gauge({
        name: 'workcrate_client_cache',
        help: 'Cached files of clients: hits, misses, evictions and invalidations since the start; entries and bytes now',
        labelNames: ['what'] as const,
        registers,
        collect() {
          const { hits, misses, evictions, invalidations, entries, bytes } = statistics();
          const shown = { hits, misses, evictions, invalidations, entries, bytes };
          for (const [what, count] of Object.entries(shown)) cache.set({ what }, count);
        },
      });
    },
  };
}

/** What of a source's report is counted. */
export interface SyncCounts {
  readonly state: string;
  readonly read: number;
  readonly broken: number;
  readonly removed: number;
}

function crateMetrics(registers: Registry[]) {
  const looks = new Counter({
    name: 'workcrate_crate_source_looks_total',
    help: 'Looks at sources of crates by this process: ok, unreachable',
    labelNames: ['result'] as const,
    registers,
  });
  const indexed = new Counter({
    name: 'workcrate_crates_indexed_total',
    help: 'Crates that were read into the index, found broken, or removed',
    labelNames: ['result'] as const,
    registers,
  });
  const last: Gauge = new Gauge({
    name: 'workcrate_last_crate_sync_timestamp_seconds',
    help: 'When this process last brought the index of crates up to date; 0 if never',
    registers,
  });
  return {
    /** What this process did to bring the index up to date. */
    cratesSynced(reports: readonly SyncCounts[]): void {
      for (const { state, read, broken, removed } of reports) {
        looks.inc({ result: state });
        for (const [result, count] of Object.entries({ read, broken, removed }))
          indexed.inc({ result }, count);
      }
      last.setToCurrentTime();
    },
  };
}

/** From a note to what is ended for taking too long. */
const buildBuckets = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

function documentMetrics(registers: Registry[]) {
  const documents = new Counter({
    name: 'workcrate_documents_total',
    help: 'Requested documents; the result is ok or the error code',
    labelNames: ['format', 'result'] as const,
    registers,
  });
  const durations = new Histogram({
    name: 'workcrate_document_seconds',
    help: 'How long building took, for all formats and including the time in the queue',
    buckets: buildBuckets,
    registers,
  });
  return {
    /** `result` is ok, or the code of an error. */
    documentBuilt: (format: string, result: string): void => documents.inc({ format, result }),
    documentsTook: (ms: number): void => durations.observe(ms / 1000),
    watchDocuments(occupancy: () => Readonly<Record<'running' | 'queued', number>>): void {
      const builds: Gauge<'state'> = new Gauge({
        name: 'workcrate_document_builds',
        help: 'Documents running and queued',
        labelNames: ['state'] as const,
        registers,
        collect() {
          for (const [state, count] of Object.entries(occupancy())) builds.set({ state }, count);
        },
      });
    },
  };
}

/** From a shell that says one word to the longest run that may be asked for. */
const runBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 60, 300, 3600];

export interface MeteredRun {
  readonly language: string;
  readonly reason: string;
  readonly durationMs: number | null;
  readonly succeeded: boolean;
}

function runMetrics(registers: Registry[]) {
  const executions = new Counter({
    name: 'workcrate_executions_total',
    help: 'Runs that have ended, by language and end reason',
    labelNames: ['language', 'reason'] as const,
    registers,
  });
  const durations = new Histogram({
    name: 'workcrate_execution_seconds',
    help: 'How long runs took, without the time in the queue',
    labelNames: ['language', 'reason'] as const,
    buckets: runBuckets,
    registers,
  });
  /** Plain numbers for plots: a run that exits may have failed. */
  const outcomes = { succeeded: 0, failed: 0 };
  return {
    executions,
    outcomes,
    executionEnded({ language, reason, durationMs, succeeded }: MeteredRun): void {
      executions.inc({ language, reason });
      outcomes[succeeded ? 'succeeded' : 'failed']++;
      // One that never started took no time, and would only make the others look quick.
      if (reason !== 'refused' && durationMs !== null)
        durations.observe({ language, reason }, durationMs / 1000);
    },
    watchCodeSessions(count: () => number): void {
      const sessions: Gauge = new Gauge({
        name: 'workcrate_code_sessions',
        help: 'Open sessions of code: interpreters that keep their state from call to call',
        registers,
        collect: () => sessions.set(count()),
      });
    },
    watchSessions(count: () => number): void {
      const sessions: Gauge = new Gauge({
        name: 'workcrate_mcp_sessions',
        help: 'Open sessions of clients with an MCP version before 2026-07-28',
        registers,
        collect: () => sessions.set(count()),
      });
    },
  };
}

const queryBuckets = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10];
const requestBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export interface StoreUsage {
  readonly files: number;
  readonly bytes: number;
}

function storeMetrics(registers: Registry[]) {
  const queries = new Histogram({
    name: 'workcrate_database_query_seconds',
    help: 'How long queries took, including the time in the queue: ok, failed',
    labelNames: ['result'] as const,
    buckets: queryBuckets,
    registers,
  });
  // There from the start, so that the first failure is an increase.
  for (const result of ['ok', 'failed']) queries.zero({ result });
  // Looked up once: there is a query for nearly everything.
  const byResult = { ok: queries.labels({ result: 'ok' }), failed: queries.labels({ result: 'failed' }) };
  const requests = new Histogram({
    name: 'workcrate_storage_request_seconds',
    help: 'How long requests to the object store took, each try: ok, a status such as 404, failed',
    labelNames: ['operation', 'result'] as const,
    buckets: requestBuckets,
    registers,
  });
  return {
    databaseQuery: (result: 'ok' | 'failed', seconds: number): void => byResult[result].observe(seconds),
    /** Both names from fixed lists: `result` is ok, a status such as 503, or failed. */
    storageRequest: (operation: string, result: string, seconds: number): void =>
      requests.observe({ operation, result }, seconds),
    watchUsage: (usage: () => Promise<StoreUsage>): void => watchUsage(registers, usage),
    ...sweepMetrics(registers),
  };
}

/** Absent while the database does not answer, since the other figures are wanted then above all. */
function watchUsage(registers: Registry[], usage: () => Promise<StoreUsage>): void {
  const watch = (name: string, help: string, of: (usage: StoreUsage) => number): void => {
    const gauge: Gauge = new Gauge({
      name,
      help,
      registers,
      async collect() {
        const held = await usage().catch(nullIfUnknown);
        if (held === null) gauge.remove();
        else gauge.set(of(held));
      },
    });
  };
  watch('workcrate_files', 'Stored files, as the quota counts them', ({ files }) => files);
  watch(
    'workcrate_file_bytes',
    'Bytes of stored files and of uploads under way, as the quota counts them',
    ({ bytes }) => bytes,
  );
}

function nullIfUnknown(error: unknown): null {
  if (isWorkcrateError(error)) return null;
  throw error;
}

function sweepMetrics(registers: Registry[]) {
  const swept = new Counter({
    name: 'workcrate_swept_total',
    help: 'What sweeps have deleted',
    labelNames: ['kind'] as const,
    registers,
  });
  const last = new Gauge({
    name: 'workcrate_last_sweep_timestamp_seconds',
    help: 'When the last successful sweep ended; 0 before the first',
    registers,
  });
  return {
    swept,
    sweepDone(counts: Readonly<Record<string, number>>): void {
      for (const [kind, count] of Object.entries(counts)) swept.inc({ kind }, count);
      last.set(Date.now() / 1000);
    },
    lastSweep: last,
  };
}

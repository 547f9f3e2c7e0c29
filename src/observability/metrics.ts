/**
 * Every metric of `/metrics`, together with `metric-families.ts`. It only defines them: the rooms and
 * `instrumentation/` count. Names and labels are a contract.
 */
import { collectDefaultMetrics, Counter, Gauge, Registry } from '@prometheus-io/client';
import { packageVersion } from '../version.ts';
import { clientMetrics, crateMetrics, documentMetrics, runMetrics, storeMetrics } from './metric-families.ts';

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
    ...storeMetrics(registers),
    ...crateMetrics(registers),
    ...clientMetrics(registers),
    ...documentMetrics(registers),
    toolCalls: new Counter({
      name: 'workcrate_tool_calls_total',
      help: 'Tool calls, by tool and how they ended',
      labelNames: ['tool', 'result'] as const,
      registers,
    }),
    auth: new Counter({
      name: 'workcrate_auth_total',
      help: 'Keys and tokens shown, by what came of it',
      labelNames: ['result'] as const,
      registers,
    }),
    errors: new Counter({
      name: 'workcrate_errors_total',
      help: 'Failed requests, by error code',
      labelNames: ['code'] as const,
      registers,
    }),
  };
}

function recordBuild(registers: Registry[]): void {
  const build = new Gauge({
    name: 'workcrate_build_info',
    help: 'Always 1; the labels tell what runs',
    labelNames: ['version', 'node'] as const,
    registers,
  });
  build.set({ version: packageVersion, node: process.versions.node }, 1);
}

function transferMetrics(registers: Registry[]) {
  const downloads = new Counter({
    name: 'workcrate_downloads_total',
    help: 'Answers to requests for files, by how they ended',
    labelNames: ['result'] as const,
    registers,
  });
  /** Looked up once for each result, since the look-up by label costs more than the counting. */
  const counters = new Map<number | string, { inc(): void }>();
  const transfers = { in: 0, out: 0 };
  const gauge: Gauge<'direction'> = new Gauge({
    name: 'workcrate_transfers_active',
    help: 'Transfers under way',
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
      help: 'Requests that brought bytes of a file, by how they ended',
      labelNames: ['result'] as const,
      registers,
    }),
    uploadBytes: new Counter({
      name: 'workcrate_upload_bytes_total',
      help: 'Bytes of files kept',
      registers,
    }),
    transfers,
  };
}

function linkMetrics(registers: Registry[]) {
  const made = new Counter({
    name: 'workcrate_links_total',
    help: 'Links made, by what they are for',
    labelNames: ['kind'] as const,
    registers,
  });
  /** Plain numbers, since a look-up is made for every download. */
  const lookups = { hits: 0, misses: 0 };
  const looked: Counter<'result'> = new Counter({
    name: 'workcrate_link_lookups_total',
    help: 'Links looked up for downloads: hit where what was remembered still held, miss where the database was asked',
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

import { Counter, Gauge, Histogram, type Registry } from '@prometheus-io/client';
import { isWorkcrateError } from '../errors.ts';

const queryBuckets = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10];
const requestBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export interface Usage {
  readonly files: number;
  readonly bytes: number;
}

export function storeMetrics(registers: Registry[]) {
  const queries = new Histogram({
    name: 'workcrate_database_query_seconds',
    help: 'How long queries took, the wait for their turn included',
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
    help: 'How long requests to the object store took, by operation and how they ended',
    labelNames: ['operation', 'result'] as const,
    buckets: requestBuckets,
    registers,
  });
  return {
    databaseQuery: (result: 'ok' | 'failed', seconds: number): void => byResult[result].observe(seconds),
    /** Both names from fixed lists: `result` is ok, a status such as 503, or failed. */
    storageRequest: (operation: string, result: string, seconds: number): void =>
      requests.observe({ operation, result }, seconds),
    watchUsage: (usage: () => Promise<Usage>): void => watchUsage(registers, usage),
    ...sweepMetrics(registers),
  };
}

/** Absent while the database does not answer, since the other figures are wanted then above all. */
function watchUsage(registers: Registry[], usage: () => Promise<Usage>): void {
  const watch = (name: string, help: string, of: (usage: Usage) => number): void => {
    const gauge: Gauge = new Gauge({
      name,
      help,
      registers,
      async collect() {
        const held = await usage().catch(unknown);
        if (held === null) gauge.remove();
        else gauge.set(of(held));
      },
    });
  };
  watch('workcrate_files', 'Files kept', ({ files }) => files);
  watch(
    'workcrate_file_bytes',
    'Bytes of files kept or promised, as the quota counts them',
    ({ bytes }) => bytes,
  );
}

function unknown(error: unknown): null {
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
    help: 'When the last sweep ended well; 0 before the first',
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

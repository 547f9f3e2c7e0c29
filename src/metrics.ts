import { collectDefaultMetrics, Counter, Gauge, Registry } from '@prometheus-io/client';

export type Metrics = ReturnType<typeof createMetrics>;

/** What an operator watches, at /metrics. Labels are few and fixed: nothing that a client sends is one. */
export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry, prefix: 'workcrate_' });
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
    registry,
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
    toolCalls: new Counter({
      name: 'workcrate_tool_calls_total',
      help: 'Tool calls, by tool and how they ended',
      labelNames: ['tool', 'result'] as const,
      registers,
    }),
    executions: new Counter({
      name: 'workcrate_executions_total',
      help: 'Runs of code, by language and how they ended',
      labelNames: ['language', 'reason'] as const,
      registers,
    }),
    /** Shows how busy the sandbox is whenever somebody asks. */
    watchSandbox(occupancy: () => Readonly<Record<'running' | 'queued' | 'warm', number>>): void {
      const runs: Gauge<'state'> = new Gauge({
        name: 'workcrate_runs',
        help: 'Runs under way and waiting, and interpreters that wait for one',
        labelNames: ['state'] as const,
        registers,
        collect() {
          for (const [state, count] of Object.entries(occupancy())) runs.set({ state }, count);
        },
      });
    },
    swept: new Counter({
      name: 'workcrate_swept_total',
      help: 'What sweeps have deleted',
      labelNames: ['kind'] as const,
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

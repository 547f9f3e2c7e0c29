import { Counter, Gauge, Histogram, type Registry } from '@prometheus-io/client';

/** From a note to what is ended for taking too long. */
const buildBuckets = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

export function documentMetrics(registers: Registry[]) {
  const documents = new Counter({
    name: 'workcrate_documents_total',
    help: 'Documents asked for, by format and how that ended',
    labelNames: ['format', 'result'] as const,
    registers,
  });
  const durations = new Histogram({
    name: 'workcrate_document_seconds',
    help: 'How long building took, all formats and the wait for a turn included',
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
        help: 'Documents being built, and waiting for it',
        labelNames: ['state'] as const,
        registers,
        collect() {
          for (const [state, count] of Object.entries(occupancy())) builds.set({ state }, count);
        },
      });
    },
  };
}

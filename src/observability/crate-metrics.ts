import { Counter, Gauge, type Registry } from '@prometheus-io/client';

/** What of a source's report is counted. */
interface SyncCounts {
  readonly state: string;
  readonly read: number;
  readonly broken: number;
  readonly removed: number;
}

export function crateMetrics(registers: Registry[]) {
  const looks = new Counter({
    name: 'workcrate_crate_source_looks_total',
    help: 'Looks at sources of crates, by how they ended',
    labelNames: ['result'] as const,
    registers,
  });
  const indexed = new Counter({
    name: 'workcrate_crates_indexed_total',
    help: 'Crates that were read into the index, found broken, or left it',
    labelNames: ['result'] as const,
    registers,
  });
  const last: Gauge = new Gauge({
    name: 'workcrate_last_crate_sync_timestamp_seconds',
    help: 'When the index of crates was last brought up to date',
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

import type { Crates } from '../crates/crates.ts';
import type { Metrics } from '../metrics.ts';

/** The same room, which counts what comes of looks at the sources. */
export function countedCrates(crates: Crates, { cratesSynced }: Pick<Metrics, 'cratesSynced'>): Crates {
  return {
    ...crates,
    async sync(watching) {
      const reports = await crates.sync(watching);
      cratesSynced(reports);
      return reports;
    },
  };
}

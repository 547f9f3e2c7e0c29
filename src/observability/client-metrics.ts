import { Gauge, type Registry } from '@prometheus-io/client';

type Statistics = Readonly<
  Record<'hits' | 'misses' | 'evictions' | 'invalidations' | 'entries' | 'bytes', number>
>;

export function clientMetrics(registers: Registry[]) {
  return {
    /** Shows what is remembered of the client's files whenever somebody asks. */
    watchClientCache(statistics: () => Statistics): void {
      const cache: Gauge<'what'> = new Gauge({
        name: 'workcrate_client_cache',
        help: 'Files of clients in memory: hits, misses, evictions and invalidations since the start; entries and bytes now',
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

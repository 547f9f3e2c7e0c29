import type { Clock } from '../../../platform/clock.ts';
import type { Database } from '../../../ports/database/database.ts';
import { WorkcrateError } from '../../../platform/errors.ts';
import type { Log } from '../../../platform/observability/log.ts';
import type { Allowed, Meaning, MeaningStatus, Ranked, WordRanking } from '../index/ranking.ts';
import { spaceLimits, type SpaceLimits } from './chosen-space.ts';
import { countedIn } from './counted.ts';
import { isZero } from './embedder.ts';
import { embeddingsFailedError } from './endpoint-request.ts';
import { endpointOf, type EndpointOptions } from './endpoint.ts';
import { isStale } from './fitting.ts';
import { byMeaning, hybrid } from './hybrid.ts';
import { createLoader, type Loaded } from './loaded.ts';
import { fixedVersion, type Provider } from './models.ts';
import { readState } from './state.ts';
import { countVectors } from './vectors.ts';

export interface MeaningOptions {
  readonly provider: Provider | 'off';
  /** For `endpoint`, and only for it. */
  readonly endpoint?: EndpointOptions | null;
  readonly clock: Clock;
  readonly log: Log;
  /** Smaller ones for tests. */
  readonly limits?: SpaceLimits;
}

/** The search by meaning: the reading side. It follows what a `Fitting` on the same database writes. */
export function createMeaning(database: Database, options: MeaningOptions): Meaning {
  const { provider, log, limits = spaceLimits } = options;
  if (provider === 'off') return off;
  const endpoint = provider === 'endpoint' ? endpointOf(options.endpoint ?? null) : null;
  const fixed = fixedVersion(provider, endpoint);
  const follow = createLoader(database, { provider, endpoint, log, limits });

  /** What was made for another endpoint does not fit the vectors of queries. */
  async function load(): Promise<Loaded | null> {
    const loaded = await follow();
    return fixed === null || loaded?.state.version === fixed ? loaded : null;
  }

  /** Once more, where another model took over meanwhile: the vectors of the old one may have been gone already. */
  async function steadily<T>(work: (loaded: Loaded | null) => Promise<T>): Promise<T> {
    const loaded = await load();
    const result = await work(loaded);
    const state = await readState(database);
    return loaded === null || state?.model === loaded.model ? result : work(await load());
  }

  return {
    async status(): Promise<MeaningStatus> {
      const state = await readState(database);
      if (state?.provider !== provider || (fixed !== null && state.version !== fixed))
        return { provider, version: null, documents: 0, isStale: true };
      const { forAll: documents } = await countVectors(database, state.model);
      const stale = state.hasMissed || (fixed === null && (await isStale(database, state)));
      return { provider, version: state.version, documents, isStale: stale };
    },

    nearest: (query, most, allowed, hasWords) =>
      steadily(async (loaded) => {
        if (loaded === null) throw notFitted();
        const vector = await vectorOf(loaded, query);
        const few = Math.min(most, limits.candidates);
        return vector === null ? [] : byMeaning(loaded, vector, few, { allowed, hasWords });
      }),

    hybrid: (query, words, allowed) =>
      steadily(async (loaded) => {
        const vector = loaded === null ? null : await vectorOf(loaded, query);
        return hybrid({ vector, loaded, words, depth: limits.candidates, allowed });
      }),
  };
}

/** Null where nothing can be near: no vectors, no words, or none that is known. */
async function vectorOf({ embedder, space }: Loaded, query: string): Promise<Float32Array | null> {
  if (space === null || countedIn(query).length === 0) return null;
  const vector = await embedder.query(query);
  if (vector.length !== space.dimensions)
    throw embeddingsFailedError(
      `it now returns ${vector.length} numbers for a text, but returned ${space.dimensions} for the crates`,
    );
  return isZero(vector) ? null : vector;
}

const off: Meaning = {
  status: async () => ({ provider: 'off', version: null, documents: 0, isStale: false }),
  nearest: async () => {
    throw new WorkcrateError('unsupported', 'Search by meaning is off on this server. Use mode "keyword".');
  },
  hybrid: (_: string, words: WordRanking, allowed: Allowed): Promise<Ranked[]> =>
    hybrid({ vector: null, loaded: null, words, depth: spaceLimits.candidates, allowed }),
};

const notFitted = (): WorkcrateError =>
  new WorkcrateError(
    'unsupported',
    'Search by meaning is not ready: it is computed when crates are indexed. Use mode "keyword", or call sync_index.',
  );

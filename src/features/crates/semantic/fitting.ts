import type { Clock } from '../../../platform/clock.ts';
import type { Database } from '../../../ports/database/database.ts';
import type { Log } from '../../../platform/observability/log.ts';
import { slices, type SemanticDocument } from './document.ts';
import { endpointOf, type EndpointOptions } from './endpoint.ts';
import { fill } from './filling.ts';
import { fixedVersion, openModel, type OpenModel, type Provider } from './models.ts';
import { refit } from './refit.ts';
import { sampleLimits, versionOf, type SampleLimits } from './sample.ts';
import { nextSequence, readState, type State } from './state.ts';
import { countVectors, firstKeys, forgetVectors, hasManyGone, rowsAtOnce } from './vectors.ts';

export interface FittingOptions {
  readonly provider: Provider | 'off';
  /** For `endpoint`, and only for it. */
  readonly endpoint?: EndpointOptions | null;
  readonly clock: Clock;
  readonly log: Log;
  /** Smaller ones for tests. */
  readonly limits?: SampleLimits;
}

/** Keeps the vectors of documents up to date: the writing side of the search by meaning. */
export interface Fitting {
  /** Places new or changed documents in the space that there is. Nothing happens before the first `refit`. */
  add(documents: readonly SemanticDocument[], signal?: AbortSignal): Promise<void>;
  remove(documents: readonly number[]): Promise<void>;
  /**
   * Brings everything to what it would be if it were made now from these documents alone, however the corpus came to
   * be. What there is serves until then. `documents` is called twice and must give the same. `index_busy` where another
   * process is at it; `embeddings_failed`, after which a later call goes on from there.
   */
  refit(documents: () => AsyncIterable<SemanticDocument>, signal?: AbortSignal): Promise<void>;
  /** Whether `refit` would change anything that `add` and `remove` have not. */
  needsRefit(): Promise<boolean>;
}

const nothing: Fitting = {
  add: async () => {},
  remove: async () => {},
  refit: async () => {},
  needsRefit: async () => false,
};

export function createFitting(database: Database, options: FittingOptions): Fitting {
  const { provider, limits = sampleLimits } = options;
  if (provider === 'off') return nothing;
  const endpoint = provider === 'endpoint' ? endpointOf(options.endpoint ?? null) : null;
  const fixed = fixedVersion(provider, endpoint);
  let opened: OpenModel | null = null;

  async function modelOf(state: State): Promise<OpenModel> {
    if (opened?.model !== state.model)
      opened = await openModel(database, provider as Provider, state.model, endpoint);
    return opened;
  }

  const isOurs = (state: State | null): state is State =>
    state !== null && state.provider === provider && (fixed === null || state.version === fixed);

  /** Another process may switch to a new model at any moment; it does so seldom, so three tries are plenty. */
  async function addSome(documents: readonly SemanticDocument[], signal?: AbortSignal): Promise<void> {
    for (let attempt = 0; attempt < 3; attempt++) {
      const state = await readState(database);
      if (!isOurs(state)) break;
      if (await fill(database, await modelOf(state), documents, { isServing: true, signal })) return;
    }
    // Not placed anywhere: whoever makes a model now is told that it has missed something.
    await nextSequence(database, 1, null);
  }

  return {
    async add(documents, signal) {
      for (const some of slices(documents, rowsAtOnce)) await addSome(some, signal);
    },

    async remove(documents) {
      for (const some of slices(documents, rowsAtOnce))
        await database.transaction(async (tx) => {
          const sequence = await nextSequence(tx, 1, null);
          const state = await readState(tx);
          if (state !== null) await forgetVectors(tx, state.model, sequence!, some);
        });
    },

    refit: (documents, signal) =>
      refit({ ...options, database, provider, endpoint, limits }, documents, signal),

    async needsRefit() {
      const state = await readState(database);
      if (!isOurs(state) || state.hasMissed) return true;
      if (hasManyGone(await countVectors(database, state.model))) return true;
      return fixed === null && (await isStale(database, state));
    },
  };
}

/** Whether the documents that the model would be fitted to now are others than those that it was fitted to. */
export async function isStale(database: Database, state: State): Promise<boolean> {
  const keys = await firstKeys(database, state.model, state.sampled + 1);
  return versionOf(keys) !== state.version;
}

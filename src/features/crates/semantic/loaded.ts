import { createMutex } from '../../../platform/concurrency/mutex.ts';
import type { Database } from '../../../ports/database/database.ts';
import type { Log } from '../../../platform/observability/log.ts';
import { chosenSpace, type ChosenSpace, type SpaceLimits } from './chosen-space.ts';
import type { Endpoint } from './endpoint.ts';
import { floatsOf } from './lsa-bytes.ts';
import { openModel, type OpenModel, type Provider } from './models.ts';
import { readState, type State } from './state.ts';

/** A model and the vectors that were made with it, in memory. */
export interface Loaded extends OpenModel {
  readonly state: State;
  /** Null where there are no vectors yet. */
  readonly space: ChosenSpace | null;
}

/** What was taken in so far: all rows up to this one, by sequence and document. */
interface Held extends OpenModel {
  readonly purges: number;
  space: ChosenSpace | null;
  sequence: number;
  document: number;
}

type VectorRow = { document: number; sequence: number; tie: number; vector: Uint8Array | null };

const rowsAtOnce = 1000;

export interface LoaderOptions {
  readonly provider: Provider;
  readonly endpoint: Endpoint | null;
  readonly log: Log;
  readonly limits: SpaceLimits;
}

/** Follows the database: each call takes in what was written since the last. Null before the first model. */
export function createLoader(database: Database, options: LoaderOptions): () => Promise<Loaded | null> {
  const { provider, endpoint, log, limits } = options;
  let held: Held | null = null;
  const loading = createMutex();

  async function load(): Promise<Loaded | null> {
    const state = await readState(database);
    if (state === null || state.provider !== provider) return null;
    const it = await heldFor(state);
    if (it.sequence < state.sequence) {
      await takeIn(it, state);
      const { documents = 0, bytes = 0, leftOut = 0 } = it.space ?? {};
      log[leftOut > 0 ? 'warn' : 'debug']('crates.meaning_loaded', { documents, bytes, left_out: leftOut });
    }
    return { state, model: it.model, embedder: it.embedder, space: it.space };
  }

  async function heldFor({ model, purges }: State): Promise<Held> {
    if (held?.model === model && held.purges === purges) return held;
    // The old one goes first: there is not always room for two.
    held = null;
    const open = await openModel(database, provider, model, endpoint);
    held = { ...open, purges, space: null, sequence: -1, document: -1 };
    return held;
  }

  async function takeIn(it: Held, state: State): Promise<void> {
    let rows: VectorRow[];
    do {
      rows = await database.query<VectorRow>(
        `SELECT document, sequence, tie, vector FROM crate_vectors
         WHERE model = ? AND (sequence > ? OR (sequence = ? AND document > ?))
         ORDER BY sequence, document LIMIT ${rowsAtOnce}`,
        it.model,
        it.sequence,
        it.sequence,
        it.document,
      );
      for (const row of rows) await place(it, row);
    } while (rows.length === rowsAtOnce);
    // The last writing may have been of another model.
    if (it.sequence < state.sequence) Object.assign(it, { sequence: state.sequence, document: -1 });
  }

  async function place(it: Held, { document, sequence, tie, vector }: VectorRow): Promise<void> {
    if (vector === null) it.space?.remove(document);
    else {
      const floats = floatsOf(vector);
      it.space ??= await chosenSpace(database, it.model, floats.length, limits);
      it.space.put(document, tie, floats);
    }
    Object.assign(it, { sequence, document });
  }

  /** One after the other: two would take in the same rows. */
  return () => loading.run(load);
}

import type { Clock } from '../../../platform/clock.ts';
import type { Database } from '../../../ports/database/database.ts';
import type { Log } from '../../../platform/observability/log.ts';
import { inBatches, type SemanticDocument } from './document.ts';
import { textsAtOnce, type Endpoint } from './endpoint.ts';
import { fill } from './filling.ts';
import { busy, takeFittingLease, type FittingLease } from './lease.ts';
import { fitLsa } from './lsa-fit.ts';
import { dropOthers, findModel, fixedVersion, openModel, storeModel, type Provider } from './models.ts';
import { sampleOf, versionOf, type SampleLimits } from './sample.ts';
import { nextSequence, readCounters, switchTo } from './state.ts';
import { forgetVectors, purge, rowsAtOnce } from './vectors.ts';

export interface Refitting {
  readonly database: Database;
  readonly provider: Provider;
  readonly endpoint: Endpoint | null;
  readonly limits: SampleLimits;
  readonly clock: Clock;
  readonly log: Log;
}

type Documents = () => AsyncIterable<SemanticDocument>;

/** Makes the model that the corpus asks for, fills it with every document, and lets it serve. */
export async function refit(it: Refitting, documents: Documents, signal?: AbortSignal): Promise<void> {
  const { database, provider, endpoint, log } = it;
  await using lease = await takeFittingLease(it, signal);
  const before = await readCounters(database);
  const model = await modelFor(it, documents, lease);
  const open = await openModel(database, provider, model, endpoint);
  const seen = new Set<number>();
  for await (const batch of inBatches(documents(), batchOf(provider))) {
    await fill(database, open, batch, { isServing: false, signal });
    for (const { document } of batch) seen.add(document);
    await lease.pause();
  }
  await forgetOthers(database, model, seen, before.sequence, lease);
  if (!(await switchTo(database, model, before.edits, lease.holder))) throw busy();
  log.info('crates.meaning_fitted', { provider, model, documents: seen.size });
  await purge(database, model);
  await dropOthers(database, model, lease.pause);
}

/** An endpoint is asked once for each, so that the lease is renewed in between. */
const batchOf = (provider: Provider): number => (provider === 'endpoint' ? textsAtOnce : rowsAtOnce);

/** One of the same version is taken as it is, even where a refit that broke off has left it. */
async function modelFor(it: Refitting, documents: Documents, { pause }: FittingLease): Promise<number> {
  const { database, provider, endpoint, limits } = it;
  const fixed = fixedVersion(provider, endpoint);
  if (fixed !== null) {
    const model = { provider, version: fixed, sampled: 0, lsa: null };
    return (await findModel(database, provider, fixed)) ?? storeModel(database, model, pause);
  }
  const sample = await sampleOf(documents(), limits, pause);
  const keys = sample.documents.map(({ key }) => key);
  const version = versionOf(sample.next === null ? keys : [...keys, sample.next]);
  const known = await findModel(database, provider, version);
  if (known !== null) return known;
  const lsa = await fitLsa(sample.documents, pause);
  return storeModel(database, { provider, version, sampled: keys.length, lsa }, pause);
}

/** Documents that are no longer there. What others have added since the start is not known here, and stays. */
async function forgetOthers(
  database: Database,
  model: number,
  seen: ReadonlySet<number>,
  until: number,
  { pause }: FittingLease,
): Promise<void> {
  for (let after = -1; ;) {
    const rows = await database.query<{ document: number }>(
      `SELECT document FROM crate_vectors WHERE model = ? AND document > ? AND sequence <= ? AND vector IS NOT NULL
       ORDER BY document LIMIT 1000`,
      model,
      after,
      until,
    );
    if (rows.length === 0) return;
    after = rows.at(-1)!.document;
    const gone = rows.map(({ document }) => document).filter((document) => !seen.has(document));
    if (gone.length > 0)
      await database.transaction(async (tx) =>
        forgetVectors(tx, model, (await nextSequence(tx, 0, null))!, gone),
      );
    await pause();
  }
}

/**
 * How well crates are found: nDCG@10 of each mode of search and of SQLite's FTS5, on several test collections.
 *
 *   node bench/quality.ts [folder of a further collection…]
 *
 * A collection is three files: `docs.json` (id, title, body), `queries.json`, whose order numbers them from 1, and
 * `qrels.json` (query_num, id, and as position the grade of the people who judged, 1 for a complete answer to 4 for
 * something of little interest). The gain is 5 − position. Each document is a crate: its title is the title, its body the
 * description. With the judgements shifted by one query nothing fits any more, as the last column shows.
 */
import {
  measureQuality,
  openFts5,
  openProduct,
  readCollection,
  type Way,
} from '../src/features/crates/semantic/collections.testing.ts';
import { reportFigure } from './figures.ts';

const ratios = new Map<string, number[]>();
for (const folder of ['cranfield', 'cacm', 'npl', ...process.argv.slice(2)]) {
  const collection = readCollection(folder);
  await using product = await openProduct(collection);
  const ways: Record<string, Way> = {
    FTS5: openFts5(collection),
    'FTS5 without stop words': openFts5(collection, { dropsStopWords: true }),
    keyword: product.by('keyword'),
    semantic: product.by('semantic'),
    hybrid: product.by('hybrid'),
  };
  const baseline = await measureQuality(collection, ways['FTS5']!);
  const rows: Record<string, string>[] = [];
  for (const [way, search] of Object.entries(ways)) {
    const score = await measureQuality(collection, search);
    const shifted = await measureQuality(collection, search, 1);
    ratios.set(way, [...(ratios.get(way) ?? []), score / baseline]);
    const ratio = (score / baseline).toFixed(3);
    rows.push({ way, 'nDCG@10': score.toFixed(4), 'to FTS5': ratio, shifted: shifted.toFixed(3) });
  }
  const { name, documents, queries } = collection;
  console.log(`${name}: ${documents.length} documents, ${queries.length} queries`);
  console.table(rows);
}
for (const [way, all] of ratios) {
  const mean = all.reduce((sum, ratio) => sum + ratio, 0) / all.length;
  reportFigure(`quality: ${way}, nDCG@10 × FTS5`, all, 'more', mean);
  console.log(`${way}: mean ${mean.toFixed(3)}, least ${Math.min(...all).toFixed(3)} × FTS5`);
}

import type { Queries, SqlValue } from '../../database/database.ts';
import type { BrokenCrate, CrateKind, CrateLocation, ReadCrate } from '../crate.ts';
import { inPortions, insertRows, marks } from './many-rows.ts';
import { encodeReferences } from './references.ts';
import { shownOf } from './texts.ts';

/** A crate with what `get_crate` is to give of it, as JSON. */
export type SummedUp = ReadCrate & { readonly summary: string };

const columns =
  'crate_id, document, sort_key, source, kind, object, locator, owner, stamp, size, modified, root, title, ' +
  'description, shown, summary, state, code, reason, indexed_at';

/** PostgreSQL takes no NUL, and neither keeps half a character. */
export const storable = (text: string): string => text.replaceAll('\0', '\ufffd').toWellFormed();

function placeValues({
  crateId,
  source,
  kind,
  object,
  locator,
  owner,
  stamp,
  size,
  modified,
}: CrateLocation) {
  return {
    crateId,
    place: [source, kind, object, locator, owner, stamp, size, Math.round(modified)] as SqlValue[],
  };
}

export async function insertCrates(
  tx: Queries,
  crates: readonly SummedUp[],
  sortKeys: readonly Buffer[],
  firstDocument: number,
  now: number,
): Promise<void> {
  const rows = crates.map((crate, at) => {
    const { crateId, place } = placeValues(crate.place);
    const { title, description } = crate.metadata;
    const texts = [crate.root, title, description, JSON.stringify(shownOf(crate)), crate.summary].map(
      storable,
    );
    return [crateId, firstDocument + at, sortKeys[at]!, ...place, ...texts, 'ok', null, null, now];
  });
  await insertRows(tx, `crates (${columns})`, rows);
  const references = crates.map(({ metadata }, at) => [
    firstDocument + at,
    encodeReferences(metadata.entities),
  ]);
  await insertRows(tx, 'crate_references (document, bytes)', references);
}

export async function insertBroken(tx: Queries, broken: readonly BrokenCrate[], now: number): Promise<void> {
  const rows = broken.map(({ place, code, reason }) => {
    const { crateId, place: values } = placeValues(place);
    const told = ['broken', code, storable(reason), now];
    return [crateId, null, new Uint8Array(0), ...values, '', '', '', '{}', '{}', ...told];
  });
  await insertRows(tx, `crates (${columns})`, rows);
}

/** Takes crates out of the index; their documents are dead from this generation on. */
export async function deleteCrates(tx: Queries, ids: readonly string[], generation: number): Promise<void> {
  await inPortions(ids, async (some) => {
    const rows = await tx.query<{ document: number | null }>(
      `DELETE FROM crates WHERE crate_id IN (${marks(some.length)}) RETURNING document`,
      ...some,
    );
    const dead = rows.map(({ document }) => document).filter((document) => document !== null);
    await insertRows(
      tx,
      'crate_dead (document, generation)',
      dead.map((document) => [document, generation]),
    );
    if (dead.length === 0) return;
    await tx.query(`DELETE FROM crate_references WHERE document IN (${marks(dead.length)})`, ...dead);
  });
}

type PlaceRow = {
  crate_id: string;
  source: string;
  kind: CrateKind;
  object: string;
  locator: string;
  owner: string | null;
  stamp: string;
  size: number;
  modified: number;
};

export const placeColumns = 'crate_id, source, kind, object, locator, owner, stamp, size, modified';

export const placeOf = ({ crate_id, ...place }: PlaceRow): CrateLocation => ({
  crateId: crate_id,
  source: place.source,
  kind: place.kind,
  object: place.object,
  locator: place.locator,
  owner: place.owner,
  stamp: place.stamp,
  size: place.size,
  modified: place.modified,
});
export type { PlaceRow };

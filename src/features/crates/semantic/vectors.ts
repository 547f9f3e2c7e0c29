import type { Database, Queries, SqlValue } from '../../../ports/database/database.ts';
import { bytesOf, floatsOf } from './lsa-bytes.ts';

/** So many rows a statement: with seven values each, far below what any database takes. */
export const rowsAtOnce = 200;

export interface NewVector {
  readonly document: number;
  readonly key: Uint8Array;
  readonly tie: number;
  readonly isPrivate: boolean;
  readonly vector: Float32Array;
}

/** Writes at most `rowsAtOnce` vectors, each document once, over what there may be. */
export async function writeVectors(
  tx: Queries,
  model: number,
  sequence: number,
  vectors: readonly NewVector[],
): Promise<void> {
  if (vectors.length === 0) return;
  const values = vectors.flatMap(({ document, key, tie, isPrivate, vector }): SqlValue[] => [
    model,
    document,
    key,
    tie,
    isPrivate ? 1 : 0,
    sequence,
    bytesOf(vector),
  ]);
  await tx.query(
    `INSERT INTO crate_vectors (model, document, content_key, tie, is_private, sequence, vector)
     VALUES ${vectors.map(() => '(?, ?, ?, ?, ?, ?, ?)').join(', ')}
     ON CONFLICT (model, document) DO UPDATE SET content_key = excluded.content_key, tie = excluded.tie,
       is_private = excluded.is_private, sequence = excluded.sequence, vector = excluded.vector`,
    ...values,
  );
}

/** Leaves a row without a vector, from which readers learn that the document is gone. */
export async function forgetVectors(
  tx: Queries,
  model: number,
  sequence: number,
  documents: readonly number[],
): Promise<void> {
  await tx.query(
    `UPDATE crate_vectors SET vector = NULL, sequence = ?
     WHERE model = ? AND vector IS NOT NULL AND document IN (${marks(documents)})`,
    sequence,
    model,
    ...documents,
  );
}

/** Which of these documents have a vector, and for which content. */
export async function knownKeys(
  queries: Queries,
  model: number,
  documents: readonly number[],
): Promise<ReadonlyMap<number, string>> {
  const rows = await queries.query<{ document: number; content_key: Uint8Array }>(
    `SELECT document, content_key FROM crate_vectors
     WHERE model = ? AND vector IS NOT NULL AND document IN (${marks(documents)})`,
    model,
    ...documents,
  );
  return new Map(rows.map((row) => [row.document, hex(row.content_key)]));
}

/** Vectors that texts of these keys already have, by key in hex. */
export async function vectorsByKey(
  queries: Queries,
  model: number,
  keys: readonly Uint8Array[],
): Promise<ReadonlyMap<string, Float32Array>> {
  if (keys.length === 0) return new Map();
  const rows = await queries.query<{ content_key: Uint8Array; vector: Uint8Array }>(
    `SELECT content_key, vector FROM crate_vectors
     WHERE model = ? AND vector IS NOT NULL AND content_key IN (${marks(keys)})`,
    model,
    ...keys,
  );
  return new Map(rows.map((row) => [hex(row.content_key), floatsOf(row.vector)]));
}

export async function vectorsOf(
  queries: Queries,
  model: number,
  documents: readonly number[],
): Promise<ReadonlyMap<number, Float32Array>> {
  const found = new Map<number, Float32Array>();
  for (let at = 0; at < documents.length; at += rowsAtOnce) {
    const some = documents.slice(at, at + rowsAtOnce);
    const rows = await queries.query<{ document: number; vector: Uint8Array }>(
      `SELECT document, vector FROM crate_vectors
       WHERE model = ? AND vector IS NOT NULL AND document IN (${marks(some)})`,
      model,
      ...some,
    );
    for (const row of rows) found.set(row.document, floatsOf(row.vector));
  }
  return found;
}

/** The smallest content keys of what everybody may see, in hex. */
export async function firstKeys(queries: Queries, model: number, most: number): Promise<string[]> {
  const rows = await queries.query<{ content_key: Uint8Array }>(
    `SELECT content_key FROM crate_vectors WHERE model = ? AND vector IS NOT NULL AND is_private = 0
     ORDER BY content_key LIMIT ?`,
    model,
    most,
  );
  return rows.map((row) => hex(row.content_key));
}

/** How many documents a model covers, how many of them everybody may see, how many rows only say that one is gone. */
export async function countVectors(
  queries: Queries,
  model: number,
): Promise<{ documents: number; gone: number; forAll: number }> {
  const [row] = await queries.query<{ total: number; documents: number; for_all: number }>(
    `SELECT COUNT(*) AS total, COUNT(vector) AS documents,
       COUNT(CASE WHEN is_private = 0 THEN vector END) AS for_all FROM crate_vectors WHERE model = ?`,
    model,
  );
  return { documents: row!.documents, gone: row!.total - row!.documents, forAll: row!.for_all };
}

/** Removes the rows that only say that a document is gone, once they outnumber the others. */
export async function purge(database: Database, model: number): Promise<void> {
  if (!hasManyGone(await countVectors(database, model))) return;
  await database.transaction(async (tx) => {
    await tx.query('UPDATE crate_meaning SET purges = purges + 1 WHERE only_one = 1');
    await tx.query('DELETE FROM crate_vectors WHERE model = ? AND vector IS NULL', model);
  });
}

export const hasManyGone = ({ documents, gone }: { documents: number; gone: number }): boolean =>
  gone > documents + 1000;

export const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

const marks = (values: readonly unknown[]): string => values.map(() => '?').join(', ');

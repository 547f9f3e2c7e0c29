import type { Queries } from '../../../ports/database/database.ts';
import type { Embedder } from './embedder.ts';
import { endpointEmbedder, endpointVersion, type Endpoint } from './endpoint.ts';
import { hashEmbedder, hashVersion } from './hash.ts';
import { lsaEmbedder, type LsaModel } from './lsa.ts';
import { lsaFromBytes, lsaToBytes } from './lsa-bytes.ts';

export type Provider = 'lsa' | 'hash' | 'endpoint';

/** Small enough for any database to take in one row. */
const chunkBytes = 1 << 20;

/** A model that can give vectors, by its number in the database. */
export interface OpenModel {
  readonly model: number;
  readonly embedder: Embedder;
}

/** The version of a provider that learns nothing from the corpus; null for `lsa`, whose version depends on it. */
export function fixedVersion(provider: Provider, endpoint: Endpoint | null): string | null {
  if (provider === 'hash') return hashVersion;
  return provider === 'endpoint' ? endpointVersion(endpoint!) : null;
}

/** Opens a model that is stored whole. */
export async function openModel(
  queries: Queries,
  provider: Provider,
  model: number,
  endpoint: Endpoint | null,
): Promise<OpenModel> {
  if (provider === 'hash') return { model, embedder: hashEmbedder() };
  if (provider === 'endpoint') return { model, embedder: endpointEmbedder(endpoint!) };
  return { model, embedder: lsaEmbedder(lsaFromBytes(await readChunks(queries, model))) };
}

async function readChunks(queries: Queries, model: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for (;;) {
    const [row] = await queries.query<{ data: Uint8Array }>(
      'SELECT data FROM crate_model_chunks WHERE model = ? AND chunk = ?',
      model,
      chunks.length,
    );
    if (row === undefined) return Buffer.concat(chunks);
    chunks.push(row.data);
  }
}

/** The number of a whole model of this version, whether or not it serves. */
export async function findModel(
  queries: Queries,
  provider: Provider,
  version: string,
): Promise<number | null> {
  const [row] = await queries.query<{ model: number }>(
    `SELECT model FROM crate_models WHERE provider = ? AND version = ? AND is_whole = 1 ORDER BY model LIMIT 1`,
    provider,
    version,
  );
  return row?.model ?? null;
}

/** Stores a model and gives its number. Only the holder of the lease does so: no two take the same number. */
export async function storeModel(
  queries: Queries,
  model: { provider: Provider; version: string; sampled: number; lsa: LsaModel | null },
  pause: () => Promise<void>,
): Promise<number> {
  const [added] = await queries.query<{ model: number }>(
    `INSERT INTO crate_models (model, provider, version, sampled, is_whole)
     SELECT CAST(COALESCE(MAX(model), 0) + 1 AS BIGINT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS BIGINT), 0
     FROM crate_models RETURNING model`,
    model.provider,
    model.version,
    model.sampled,
  );
  const number = added!.model;
  const bytes = model.lsa === null ? Buffer.alloc(0) : lsaToBytes(model.lsa);
  for (let chunk = 0; chunk * chunkBytes < bytes.length; chunk++) {
    const data = bytes.subarray(chunk * chunkBytes, (chunk + 1) * chunkBytes);
    const sql = 'INSERT INTO crate_model_chunks (model, chunk, data) VALUES (?, ?, ?)';
    await queries.query(sql, number, chunk, data);
    await pause();
  }
  await queries.query('UPDATE crate_models SET is_whole = 1 WHERE model = ?', number);
  return number;
}

/** Removes every model but one, with its vectors, a few rows at a time so that nobody waits for long. */
export async function dropOthers(queries: Queries, kept: number, pause: () => Promise<void>): Promise<void> {
  const others = await queries.query<{ model: number }>(
    'SELECT model FROM crate_models WHERE model <> ?',
    kept,
  );
  for (const { model } of others) {
    while ((await dropSomeVectors(queries, model)) > 0) await pause();
    await queries.query('DELETE FROM crate_model_chunks WHERE model = ?', model);
    await queries.query('DELETE FROM crate_models WHERE model = ?', model);
  }
}

async function dropSomeVectors(queries: Queries, model: number): Promise<number> {
  const rows = await queries.query(
    `DELETE FROM crate_vectors WHERE model = ? AND document IN
       (SELECT document FROM crate_vectors WHERE model = ? ORDER BY document LIMIT 2000) RETURNING document`,
    model,
    model,
  );
  return rows.length;
}

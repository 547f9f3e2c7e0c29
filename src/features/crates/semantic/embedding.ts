/**
 * Where the vectors of crates come from: of a hash they are computed whenever they are needed, those of an embeddings API
 * are kept in the database, so that no text is asked about twice.
 */
import type { Database } from '../../../ports/database/database.ts';
import {
  hashSemanticText,
  joinSemanticText,
  selectShownTexts,
  type CrateContent,
  type ShownCrate,
} from '../index/texts.ts';
import type { VectorSource } from '../index/ranking.ts';
import { makeMarks, type CrateRows } from '../index/rows.ts';
import {
  computeEndpointVersion,
  createEndpointEmbedder,
  maxTextsAtOnce,
  parseEndpoint,
  type Endpoint,
  type EndpointOptions,
} from './endpoint.ts';
import { embedByHash, hashVersion } from './hash.ts';
import { isZeroVector, packVector } from './vectors.ts';

export type Provider = 'hash' | 'endpoint';

export interface EmbeddingOptions {
  readonly provider: Provider | 'off';
  /** For `endpoint`, and only for it. */
  readonly endpoint?: EndpointOptions | null;
}

export function createVectorSource(
  database: Database,
  { provider, endpoint = null }: EmbeddingOptions,
): VectorSource | null {
  if (provider === 'off') return null;
  if (provider === 'hash')
    return { version: hashVersion, load: async (texts) => texts.map((text) => packKnown(text, embedByHash)) };
  const version = computeEndpointVersion(parseEndpoint(endpoint));
  return {
    version,
    async load(texts) {
      const known = await readVectors(database, version, texts);
      return texts.map((text) => packKnown(text, (it) => known.get(toKey(it)) ?? null));
    },
  };
}

function packKnown(text: string | null, embed: (text: string) => Float32Array | null): Uint8Array | null {
  const vector = text === null ? null : embed(text);
  return vector === null || isZeroVector(vector) ? null : packVector(vector);
}

const toKey = (text: string): string => hashSemanticText(text).toString('hex');

async function readVectors(
  database: Database,
  version: string,
  texts: readonly (string | null)[],
): Promise<Map<string, Float32Array>> {
  const keys = texts.filter((text) => text !== null).map(hashSemanticText);
  const found = new Map<string, Float32Array>();
  if (keys.length === 0) return found;
  const rows = await database.query<{ content_key: Uint8Array; vector: Uint8Array }>(
    `SELECT content_key, vector FROM crate_vectors
     WHERE version = ? AND content_key IN (${makeMarks(keys.length)})`,
    version,
    ...keys,
  );
  for (const { content_key, vector } of rows)
    found.set(Buffer.from(content_key).toString('hex'), new Float32Array(new Uint8Array(vector).buffer));
  return found;
}

export interface Embedding {
  /** Asks for the vectors that are missing, and has the crates indexed once more that got one. */
  embedMissing(signal?: AbortSignal): Promise<void>;
  /** Asks for the vector of a crate that is still to be put in. */
  embedCrate(crate: CrateContent, signal?: AbortSignal): Promise<void>;
}

/** Null where nothing has to be asked for. */
export function createEmbedding(
  database: Database,
  rows: Pick<CrateRows, 'touch'>,
  { provider, endpoint = null }: EmbeddingOptions,
): Embedding | null {
  if (provider !== 'endpoint') return null;
  const parsed = parseEndpoint(endpoint);
  const version = computeEndpointVersion(parsed);
  return {
    embedMissing: (signal) => embedAll(database, rows, parsed, signal),
    async embedCrate(crate, signal) {
      const { title, description } = crate.metadata;
      const text = joinSemanticText({ title, description, shown: JSON.stringify(selectShownTexts(crate)) });
      if ((await readVectors(database, version, [text])).size > 0) return;
      const [vector] = await createEndpointEmbedder(parsed).documents([text], signal);
      await storeVector(database, version, text, vector!);
    },
  };
}

async function embedAll(
  database: Database,
  rows: Pick<CrateRows, 'touch'>,
  endpoint: Endpoint,
  signal: AbortSignal | undefined,
): Promise<void> {
  const version = computeEndpointVersion(endpoint);
  const embedder = createEndpointEmbedder(endpoint);
  for await (const crates of listTexts(database)) {
    signal?.throwIfAborted();
    const known = await readVectors(
      database,
      version,
      crates.map(({ text }) => text),
    );
    const missing = crates.filter(({ text }) => !known.has(toKey(text)));
    if (missing.length === 0) continue;
    const texts = [...new Set(missing.map(({ text }) => text))];
    const vectors = await embedder.documents(texts, signal);
    for (const [at, text] of texts.entries()) await storeVector(database, version, text, vectors[at]!);
    await rows.touch(missing.map(({ crateId }) => crateId));
  }
}

const storeVector = (database: Database, version: string, text: string, vector: Float32Array) =>
  database.query(
    `INSERT INTO crate_vectors (version, content_key, vector) VALUES (?, ?, ?)
     ON CONFLICT (version, content_key) DO NOTHING`,
    version,
    hashSemanticText(text),
    new Uint8Array(vector.buffer),
  );

/** The texts of all crates, as many at a time as are asked about together. */
async function* listTexts(database: Database): AsyncGenerator<{ crateId: string; text: string }[]> {
  for (let after = ''; ;) {
    const page = await database.query<ShownCrate & { crate_id: string }>(
      `SELECT crate_id, title, description, shown FROM crates WHERE state = 'ok' AND crate_id > ?
       ORDER BY crate_id LIMIT ${maxTextsAtOnce}`,
      after,
    );
    if (page.length === 0) return;
    after = page.at(-1)!.crate_id;
    yield page.map((row) => ({ crateId: row.crate_id, text: joinSemanticText(row) }));
  }
}

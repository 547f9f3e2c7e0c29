/**
 * The door of the search by meaning (embeddings): what is near to a query, alone or together with words. Who may see a
 * crate, and the ranking by words, are matters of `index/`.
 */
import { WorkcrateError } from '../../../platform/errors.ts';
import type { Log } from '../../../platform/observability/log.ts';
import { publicAudience, type LocalIndex } from '../index/local-index.ts';
import type { Meaning } from '../index/ranking.ts';
import { countWords } from './counting.ts';
import { computeEndpointVersion, createEndpointEmbedder, parseEndpoint } from './endpoint.ts';
import { embeddingsFailedError } from './endpoint-request.ts';
import { embedByHash, hashVersion } from './hash.ts';
import { rankByBoth, rankByMeaning } from './hybrid.ts';
import type { EmbeddingOptions } from './embedding.ts';
import { createVectorSpace, isZeroVector, type VectorSpace } from './vectors.ts';

export { createEmbedding, createVectorSource } from './embedding.ts';
export type { Embedding, EmbeddingOptions, Provider } from './embedding.ts';
export type { EndpointOptions } from './endpoint.ts';

export function createMeaning(local: LocalIndex, options: EmbeddingOptions & { readonly log: Log }): Meaning {
  const { provider, log } = options;
  if (provider === 'off') return meaningOff;
  const endpoint = provider === 'endpoint' ? parseEndpoint(options.endpoint ?? null) : null;
  const embedder = endpoint === null ? null : createEndpointEmbedder(endpoint);
  const version = endpoint === null ? hashVersion : computeEndpointVersion(endpoint);
  const isSkewed = embedder !== null;
  const readSpace = createVectorSpace(local, log);

  /** Null where nothing can be near: no vectors, no words, or none that is known. */
  async function embedQuery(query: string, space: VectorSpace | null): Promise<Float32Array | null> {
    if (space === null || countWords(query).length === 0) return null;
    const vector = embedder === null ? embedByHash(query) : await embedder.query(query);
    if (vector.length !== space.dimensions)
      throw embeddingsFailedError(
        `it now returns ${vector.length} numbers for a text, but returned ${space.dimensions} for the crates`,
      );
    return isZeroVector(vector) ? null : vector;
  }

  return {
    async status() {
      const { documents, missing } = countVectors(local);
      // Of a hash only what has no words has no vector.
      return { provider, version, documents, isStale: endpoint !== null && missing };
    },
    async nearest(query, most, allowed, hasWords) {
      const space = readSpace();
      if (space === null && embedder !== null) throw meaningNotReadyError();
      const vector = await embedQuery(query, space);
      return rankByMeaning({ vector, space, allowed, isSkewed }, most, hasWords);
    },
    async hybrid(query, words, allowed) {
      const space = readSpace();
      const vector = await embedQuery(query, space);
      return rankByBoth({ vector, space, words, allowed, isSkewed });
    },
  };
}

function countVectors(local: LocalIndex): { documents: number; missing: boolean } {
  if (local.readState() === null) return { documents: 0, missing: true };
  const count = (sql: string, ...values: number[]): number =>
    (local.prepare(sql).get(...values) as unknown as [number])[0];
  const join = 'FROM vectors JOIN documents USING (document)';
  return local.read(() => ({
    documents: count(`SELECT COUNT(*) ${join} WHERE audience = ?`, publicAudience),
    missing: count('SELECT COUNT(*) FROM documents') > count(`SELECT COUNT(*) ${join}`),
  }));
}

const meaningOff: Meaning = {
  status: async () => ({ provider: 'off', version: null, documents: 0, isStale: false }),
  nearest: async () => {
    throw new WorkcrateError('unsupported', 'Search by meaning is off on this server. Use mode "keyword".');
  },
  hybrid: (_query, words, allowed) =>
    rankByBoth({ vector: null, space: null, words, allowed, isSkewed: false }),
};

const meaningNotReadyError = (): WorkcrateError =>
  new WorkcrateError(
    'unsupported',
    'Search by meaning is not ready: it is computed when crates are indexed. Use mode "keyword", or call sync_index.',
  );

import { createHash } from 'node:crypto';
import { BoundedMap } from '../../../platform/concurrency/bounded-map.ts';
import { WorkcrateError } from '../../../platform/errors.ts';
import { requestVectors, type Patience } from './endpoint-request.ts';
import { normalizeVector } from './vectors.ts';

export interface EndpointOptions {
  /** Of the API, with or without `/embeddings` at the end of its path. */
  readonly url: string;
  readonly model: string;
  readonly key: string | null;
  /** Shorter ones for tests. */
  readonly patience?: Partial<Patience>;
}

export interface Endpoint {
  readonly url: URL;
  readonly model: string;
  readonly key: string | null;
  readonly patience: Partial<Patience>;
}

export const maxTextsAtOnce = 64;
/** Models read some thousand tokens; in some scripts a letter is one. What a text is about, it says at its start. */
const maxTextCharacters = 8000;
const maxRememberedQueries = 256;

/** Somebody waits for a query. */
const queryPatience: Partial<Patience> = { tries: 2, timeoutMs: 15_000, longestPauseMs: 2000 };

export function parseEndpoint(options: EndpointOptions | null): Endpoint {
  if (options === null || !URL.canParse(options.url)) throw endpointNotSetError();
  const url = new URL(options.url);
  if (!/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '' || options.model === '')
    throw endpointNotSetError();
  const path = url.pathname.replace(/\/+$/, '');
  url.pathname = path.endsWith('/embeddings') ? path : `${path}/embeddings`;
  return { url, model: options.model, key: options.key, patience: options.patience ?? {} };
}

/** Another address or another model gives other vectors; another key does not. */
export function computeEndpointVersion({ url, model }: Endpoint): string {
  const hash = createHash('sha256').update(`${url.origin}${url.pathname}\n${model}`).digest('hex');
  return `endpoint-1-${hash.slice(0, 24)}`;
}

/** Has an OpenAI-compatible API give the vectors. They are as stable as its model is. */
export function createEndpointEmbedder(endpoint: Endpoint) {
  const remembered = new BoundedMap<string, Float32Array>({ mostEntries: maxRememberedQueries });

  async function vectors(
    texts: readonly string[],
    patience: Partial<Patience>,
    signal?: AbortSignal,
  ): Promise<Float32Array[]> {
    const input = texts.map((text) => text.slice(0, maxTextCharacters).toWellFormed().trim() || '-');
    const answer = await requestVectors(endpoint, input, { ...patience, ...endpoint.patience }, signal);
    return answer.map((values) => normalizeVector(values));
  }

  return {
    async documents(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]> {
      const made: Float32Array[] = [];
      for (let at = 0; at < texts.length; at += maxTextsAtOnce)
        made.push(...(await vectors(texts.slice(at, at + maxTextsAtOnce), {}, signal)));
      return made;
    },
    /** Remembered, since each page of results asks again. */
    async query(text: string): Promise<Float32Array> {
      const known = remembered.get(text);
      if (known !== undefined) return known;
      const [vector] = await vectors([text], queryPatience);
      remembered.set(text, vector!);
      return vector!;
    },
  };
}

const endpointNotSetError = (): WorkcrateError =>
  new WorkcrateError(
    'config_invalid',
    'The search by meaning is set to `endpoint`: it needs the http or https URL of an embeddings API, without user ' +
      'name and password, and the name of a model.',
  );

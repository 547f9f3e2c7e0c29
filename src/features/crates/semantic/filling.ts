import type { Database } from '../../../ports/database/database.ts';
import { keyOf, tieOf, type SemanticDocument } from './document.ts';
import type { OpenModel } from './models.ts';
import { nextSequence } from './state.ts';
import { hex, knownKeys, vectorsByKey, writeVectors, type NewVector } from './vectors.ts';

export interface Fill {
  /** Where documents are added to the model that serves: then it has to serve still. */
  readonly isServing: boolean;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Gives documents their vectors, at most `rowsAtOnce`. Those that have one for the same text keep it, and a text that
 * is known from another document is not asked about again: an endpoint costs time and money. False where another model
 * has come to serve.
 */
export async function fill(
  database: Database,
  { model, embedder }: OpenModel,
  documents: readonly SemanticDocument[],
  { isServing, signal }: Fill,
): Promise<boolean> {
  const wanted = await withoutVector(database, model, documents);
  const vectors = new Map(
    await vectorsByKey(
      database,
      model,
      wanted.map(({ key }) => key),
    ),
  );
  const asked = new Map(
    wanted.map(({ key, text }) => [hex(key), text] as const).filter(([key]) => !vectors.has(key)),
  );
  const made = asked.size === 0 ? [] : await embedder.documents([...asked.values()], signal);
  for (const [at, key] of [...asked.keys()].entries()) vectors.set(key, made[at]!);
  return database.transaction(async (tx) => {
    const sequence = await nextSequence(tx, isServing ? 1 : 0, isServing ? model : null);
    if (sequence === null) return false;
    const rows = wanted.map((one): NewVector => ({ ...one, vector: vectors.get(hex(one.key))! }));
    await writeVectors(tx, model, sequence, rows);
    return true;
  });
}

type Wanted = Omit<NewVector, 'vector'> & { readonly text: string };

/** Each document once, as it was given last. */
async function withoutVector(
  database: Database,
  model: number,
  documents: readonly SemanticDocument[],
): Promise<Wanted[]> {
  const once = new Map(documents.map((document) => [document.document, document]));
  const known = await knownKeys(database, model, [...once.keys()]);
  return [...once.values()]
    .map((document) => {
      const key = keyOf(document);
      const { document: number, text, isPrivate } = document;
      return { document: number, text, isPrivate, key, tie: tieOf(key, document) };
    })
    .filter(({ document, key }) => known.get(document) !== hex(key));
}

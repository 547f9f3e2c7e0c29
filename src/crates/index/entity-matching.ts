import type { Queries } from '../../database/database.ts';
import { WorkcrateError } from '../../errors.ts';
import type { EntityCondition } from '../query/parse.ts';
import { foldCaseAndAccents } from '../text/words.ts';
import type { BlockCache } from './block-cache.ts';
import { foldedValue, nameKey, typePrefix, valueForm, valuePart } from './entity-key.ts';
import { containing } from './entity-scan.ts';
import { typesWith } from './entity-types.ts';
import { fromKey } from './keys.ts';
import { lookUpIn } from './lookup.ts';
import { marks } from './many-rows.ts';
import type { Pace } from './pace.ts';
import { eachPosting, numbersAt, type Postings } from './postings.ts';
import { decodeReferences, walkBack, type References } from './references.ts';
import type { VisibleSegment } from './visible.ts';

const anyType = '*';

/** Calls for all entities whose last property has the value. Where the path has no other step, their type fits too. */
async function eachWithValue(
  cache: BlockCache,
  { of }: VisibleSegment,
  { type, path, value, exact }: EntityCondition,
  call: (postings: Postings) => void,
): Promise<void> {
  const property = path.at(-1)!;
  const all = await typesWith(cache, of, property);
  const types = path.length === 1 ? all.filter(typeTest(type)) : all;
  if (types.length === 0) return;
  const prefixes = types.map((each) => typePrefix(property, each));
  if (exact) {
    const part = valuePart(value);
    for (const postings of await lookUpIn(
      cache,
      of,
      prefixes.map((prefix) => prefix + part),
    ))
      if (postings !== null) call(postings);
  } else {
    const needle = foldedValue(valueForm(value));
    for (const prefix of prefixes)
      for await (const found of containing(cache, of, prefix, needle))
        for (const postings of found) call(postings);
  }
}

/** In a segment the documents that a condition of one step holds for, in order. */
export async function documentsHolding(
  cache: BlockCache,
  segment: VisibleSegment,
  condition: EntityCondition,
  barred: Uint8Array | null,
): Promise<readonly number[]> {
  const found: number[] = [];
  let lists = 0;
  await eachWithValue(cache, segment, condition, (postings) => {
    lists++;
    eachPosting(postings, false, (document) => {
      if (segment.hidden?.[document] !== 1 && barred?.[document] !== 1) found.push(document);
    });
  });
  return lists > 1 ? [...new Set(found)].sort((one, other) => one - other) : found;
}

/** In a segment the documents that may be where a path ends, and which of their entities have the value. */
export async function candidatesIn(
  cache: BlockCache,
  segment: VisibleSegment,
  condition: EntityCondition,
): Promise<Map<number, number[]>> {
  const documents = new Map<number, number[]>();
  await eachWithValue(cache, segment, condition, (postings) =>
    eachPosting(postings, false, (document, at) => {
      if (segment.hidden?.[document] === 1) return;
      const entities = numbersAt(postings.bytes, at);
      const known = documents.get(document);
      if (known === undefined) documents.set(document, entities);
      else for (const entity of entities) known.push(entity);
    }),
  );
  return documents;
}

/** Types are compared without case. */
function typeTest(type: string): (key: string) => boolean {
  if (type === anyType) return () => true;
  const wanted = foldCaseAndAccents(fromKey(nameKey(type)));
  return (key) => foldCaseAndAccents(fromKey(key)) === wanted;
}

/** Which of some documents, by their numbers in the index, have an entity of the type at the start of the path. */
export async function leadingBack(
  queries: Queries,
  { type, path }: EntityCondition,
  entities: ReadonlyMap<number, readonly number[]>,
  pace: Pace,
): Promise<Set<number>> {
  pace.lookInto(entities.size);
  const steps = path.slice(0, -1);
  const fitsType = typeTest(type);
  const fits = ({ types }: References, entity: number): boolean =>
    type === anyType || types[entity]!.some((name) => fitsType(nameKey(name)));
  const rows = await queries.query<{ document: number; bytes: Uint8Array }>(
    `SELECT document, bytes FROM crate_references WHERE document IN (${marks(entities.size)})`,
    ...entities.keys(),
  );
  if (rows.length !== entities.size) throw entityIndexChangedError();
  const found = new Set<number>();
  for (const { document, bytes } of rows) {
    await pace.breathe();
    const references = decodeReferences(bytes);
    const starts = await walkBack(references, steps, entities.get(document)!, pace);
    if (starts.values().some((entity) => fits(references, entity))) found.add(document);
  }
  return found;
}

const entityIndexChangedError = (): WorkcrateError =>
  new WorkcrateError('index_busy', 'The index is changing too fast to be read. Try again in a moment.');

/** A reference to an entity is also found by that entity's id, where the whole value is asked for. */
export function readings(condition: EntityCondition): EntityCondition[] {
  const { path, exact } = condition;
  return exact && path.at(-1) !== '@id' ? [condition, { ...condition, path: [...path, '@id'] }] : [condition];
}

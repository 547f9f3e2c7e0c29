import { createHash } from 'node:crypto';
import type { CrateLocation, CrateMetadata, Entity, ReadCrate } from '../crate.ts';
import type { SummedUp } from './rows.ts';

export interface MadeUp extends Partial<Omit<CrateMetadata, 'entities'>> {
  /** Tells crates apart; the same name is the same crate. */
  readonly id: string;
  readonly owner?: string | null;
  readonly source?: string;
  readonly kind?: CrateLocation['kind'];
  readonly files?: readonly string[];
  readonly entities?: readonly Entity[];
}

export const crateIdOf = (id: string): string =>
  `crate_${createHash('sha256').update(id).digest('hex').slice(0, 24)}`;

/** A crate for tests, with as much said of it as the test is about. */
export function madeUp({
  id,
  owner = null,
  source = 'file:///made-up/',
  kind = 'zip',
  files = [],
  ...said
}: MadeUp): SummedUp {
  const metadata: CrateMetadata = {
    title: id,
    description: '',
    authors: [],
    keywords: [],
    license: null,
    published: null,
    year: null,
    identifiers: [],
    spec: '1.1',
    profiles: [],
    rootId: './',
    entities: [{ id: './', types: ['Dataset'], properties: [] }],
    issues: [],
    ...said,
  };
  const crate: ReadCrate = {
    place: placeOf(id, owner, source, kind),
    root: '',
    metadata,
    files,
    fileCount: files.length,
    bytes: null,
  };
  return { ...crate, summary: JSON.stringify({ title: metadata.title }) };
}

function placeOf(
  id: string,
  owner: string | null,
  source: string,
  kind: CrateLocation['kind'],
): CrateLocation {
  const object = `${id}.zip`;
  const locator = `${source}${object}`;
  return {
    crateId: crateIdOf(id),
    source,
    kind,
    object,
    locator,
    owner,
    stamp: 'one',
    size: 10,
    modified: 1,
  };
}

/** Text and references of an entity, the latter by number. */
export function entity(
  id: string,
  type: string | string[],
  said: Record<string, string | number | (string | number)[]>,
): Entity {
  const properties = Object.entries(said).flatMap(([name, values]) =>
    [values]
      .flat()
      .map((value) => (typeof value === 'number' ? { name, target: value } : { name, text: value })),
  );
  return { id, types: [type].flat(), properties };
}

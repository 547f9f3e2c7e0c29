/** Made-up crates, the same in every run: text whose words are as unevenly spread as those of real text. */
import { createHash } from 'node:crypto';
import type { Entity } from '../src/crates/crate.ts';
import type { SummedUp } from '../src/crates/index/writing.ts';

const vocabularySize = 60_000;
const people = 40_000;
const places = 4000;

/** Numbers from 0 to 1 that look random (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const syllables =
  'ba ce di fo gu la me ni po ru sa te vi xo zu bran cler dist ford grav hel isk jun kor lum'.split(' ');
const endings = ['', '', 's', 'ing', 'ed', 'ation', 'al', 'ly'];

const word = (rank: number): string => {
  let rest = rank * 7919 + 13;
  let text = '';
  for (let length = 2 + (rank % 2); length > 0; length--) {
    text += syllables[rest % syllables.length];
    rest = Math.floor(rest / syllables.length) + rank;
  }
  return text + endings[rank % endings.length];
};

export const vocabulary = Array.from({ length: vocabularySize }, (_, rank) => word(rank));

/** A rank as in Zipf's law: the first is as frequent as the next two together, and so on. */
export const zipf = (random: () => number, count: number): number => Math.floor(count ** random()) - 1;

export function textOf(random: () => number, words: number): string {
  return Array.from({ length: words }, () => vocabulary[zipf(random, vocabularySize)]).join(' ');
}

export const personName = (number: number): string =>
  `${capital(vocabulary[(number * 31) % vocabularySize]!)} ${capital(vocabulary[(number * 17 + 5) % vocabularySize]!)}`;
export const placeName = (number: number): string =>
  `University of ${capital(vocabulary[(number * 13) % vocabularySize]!)}`;
const capital = (text: string): string => text[0]!.toUpperCase() + text.slice(1);

export const somebody = (random: () => number): string => personName(zipf(random, people));
export const somewhere = (random: () => number): string => placeName(zipf(random, places));

const licenses = ['CC-BY-4.0', 'MIT', 'CC0-1.0', 'Apache-2.0', 'GPL-3.0'];

export function madeUpCrate(number: number): SummedUp {
  const random = seeded(number + 1);
  const authors = Array.from({ length: 1 + Math.floor(random() * 3) }, () => somebody(random));
  const files = Array.from(
    { length: 4 + Math.floor(random() * 8) },
    (_, at) => `data/${textOf(random, 1)}_${at}.csv`,
  );
  const title = textOf(random, 4 + Math.floor(random() * 8));
  const description = textOf(random, 20 + Math.floor(random() * 100));
  const year = 2010 + Math.floor(random() * 16);
  const license = `https://spdx.org/licenses/${licenses[zipf(random, licenses.length)]}`;
  const keywords = Array.from({ length: Math.floor(random() * 6) }, () => textOf(random, 1));
  const crateId = `crate_${createHash('sha256').update(String(number)).digest('hex').slice(0, 24)}`;
  const metadata = {
    title,
    description,
    authors,
    keywords,
    license: { id: license, name: null },
    published: `${year}-01-01`,
    year,
    identifiers: [`https://doi.org/10.5281/zenodo.${number}`],
    spec: '1.1',
    profiles: random() < 0.2 ? ['https://w3id.org/ro/wfrun/process/0.5'] : [],
    rootId: './',
    entities: entitiesOf(random, { title, description, license, authors, files }),
    issues: [],
  };
  const source = 'file:///bench/';
  const object = `${number}.zip`;
  const place = { crateId, source, kind: 'zip', object, locator: `${source}${object}`, owner: null } as const;
  const summary = JSON.stringify({
    crate_id: crateId,
    title,
    authors,
    year,
    entity_count: metadata.entities.length,
  });
  return {
    place: { ...place, stamp: '1', size: 1, modified: 1 },
    root: '',
    metadata,
    files,
    fileCount: files.length,
    bytes: null,
    summary,
  };
}

interface Told {
  readonly title: string;
  readonly description: string;
  readonly license: string;
  readonly authors: readonly string[];
  readonly files: readonly string[];
}

function entitiesOf(random: () => number, { title, description, license, authors, files }: Told): Entity[] {
  const told = (name: string, value: string) => ({ name, text: value });
  const firstFile = 1 + authors.length * 2;
  const root: Entity = {
    id: './',
    types: ['Dataset'],
    properties: [
      told('name', title),
      told('description', description),
      told('license', license),
      ...authors.map((_, at) => ({ name: 'author', target: 1 + at * 2 })),
      ...files.map((_, at) => ({ name: 'hasPart', target: firstFile + at })),
    ],
  };
  const persons = authors.flatMap((name, at): Entity[] => [
    {
      id: `#${name.replace(' ', '-')}`,
      types: ['Person'],
      properties: [told('name', name), { name: 'affiliation', target: 2 + at * 2 }],
    },
    { id: `#at-${at}`, types: ['Organization'], properties: [told('name', somewhere(random))] },
  ]);
  const parts = files.map((file): Entity => ({
    id: file,
    types: ['File'],
    properties: [told('encodingFormat', 'text/csv'), told('contentSize', String(Math.floor(random() * 1e6)))],
  }));
  return [root, ...persons, ...parts];
}

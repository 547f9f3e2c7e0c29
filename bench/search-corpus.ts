/** Made-up crates, the same in every run. Their titles and descriptions are sentences of real collections. */
import { createHash } from 'node:crypto';
import type { Entity } from '../src/features/crates/crate.ts';
import type { SummedUp } from '../src/features/crates/index/rows.ts';
import { readCollection } from '../src/features/crates/semantic/collections.testing.ts';

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

const collections = ['cranfield', 'cacm', 'npl'].flatMap((name) => readCollection(name).documents);

/** Sentences as people wrote them; what has no full stops is one. */
const sentences = collections
  .flatMap(({ body }) => body.split(/\s*\.\s+/))
  .filter((sentence) => sentence.split(/\s+/).length >= 5);
const titles = collections.map(({ title }) => title).filter((title) => title !== '');

/** The different words of all texts, those of most texts first. */
export const vocabulary: readonly string[] = orderByFrequency(sentences);

function orderByFrequency(texts: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const text of texts)
    for (const word of text.toLowerCase().match(/[a-z]{3,}/g) ?? [])
      counts.set(word, (counts.get(word) ?? 0) + 1);
  return [...counts].toSorted((one, other) => other[1] - one[1]).map(([word]) => word);
}

/** A rank as in Zipf's law: the first is as frequent as the next two together, and so on. */
export const zipf = (random: () => number, count: number): number => Math.floor(count ** random()) - 1;

export const pick = <T>(random: () => number, all: readonly T[]): T =>
  all[Math.floor(random() * all.length)]!;

/** Words one after the other as they are in texts. */
export function runningWords(random: () => number, count: number): string[] {
  const words: string[] = [];
  while (words.length < count) words.push(...(pick(random, sentences).match(/[A-Za-z]+/g) ?? []));
  return words.slice(0, count);
}

/** Different words of one sentence, in any order. */
export function sentenceWords(random: () => number, count: number): string[] {
  for (;;) {
    const words = [
      ...new Set(
        pick(random, sentences)
          .toLowerCase()
          .match(/[a-z]+/g) ?? [],
      ),
    ];
    if (words.length < count) continue;
    return words
      .map((word) => ({ word, at: random() }))
      .toSorted((one, other) => one.at - other.at)
      .slice(0, count)
      .map(({ word }) => word);
  }
}

const personName = (number: number): string =>
  `${capital(vocabulary[(number * 31) % vocabulary.length]!)} ${capital(vocabulary[(number * 17 + 5) % vocabulary.length]!)}`;
const placeName = (number: number): string =>
  `University of ${capital(vocabulary[(number * 13) % vocabulary.length]!)}`;
const capital = (text: string): string => text[0]!.toUpperCase() + text.slice(1);

export const somebody = (random: () => number): string => personName(zipf(random, people));
export const somewhere = (random: () => number): string => placeName(zipf(random, places));

const licenses = ['CC-BY-4.0', 'MIT', 'CC0-1.0', 'Apache-2.0', 'GPL-3.0'];

export function madeUpCrate(number: number): SummedUp {
  const random = seeded(number + 1);
  const authors = Array.from({ length: 1 + Math.floor(random() * 3) }, () => somebody(random));
  const files = Array.from(
    { length: 4 + Math.floor(random() * 8) },
    (_, at) => `data/${pick(random, vocabulary)}_${at}.csv`,
  );
  const title = pick(random, titles);
  const description = Array.from({ length: 2 + Math.floor(random() * 5) }, () =>
    pick(random, sentences),
  ).join('. ');
  const year = 2010 + Math.floor(random() * 16);
  const license = `https://spdx.org/licenses/${licenses[zipf(random, licenses.length)]}`;
  const keywords = Array.from({ length: Math.floor(random() * 6) }, () => pick(random, vocabulary));
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

import { archive } from '../../../src/platform/zip/unzip-archive.testing.ts';
import { metadata } from '../backends/crates.testing.ts';

/** Markup that would run where it is not escaped. */
export const injections = [
  `"'><script>alert(1)</script>`,
  `<img src=x onerror=alert(1)>`,
  `</title></svg></textarea><svg onload=alert(1)>`,
  `javascript:alert(1)`,
  `{{constructor.constructor('alert(1)')()}}`,
] as const;

const allInjections = injections.join(' ');

const refer = (...ids: string[]) => ids.map((id) => ({ '@id': id }));
const file = (id: string, name?: string) => ({ '@id': id, '@type': 'File', ...(name && { name }) });

const people = ['Ada Byron', 'Grace Hopper', 'Mary Somerville'];

/** Crates that facets tell apart: three authors, two licences, five years. */
export function makeGlaciers(count: number): Record<string, string> {
  const crates = Array.from({ length: count }, (_, at) => {
    const about = {
      description: `Lengths of glaciers, measured in ${1990 + at}.`,
      author: refer('#author'),
      keywords: ['glaciers', at % 2 === 0 ? 'ice' : 'climate'],
      datePublished: `${2015 + (at % 5)}-03-04`,
      license: { '@id': `https://spdx.org/licenses/${at % 2 === 0 ? 'MIT' : 'CC0-1.0'}` },
    };
    const author = { '@id': '#author', '@type': 'Person', name: people[at % 3] };
    return [`glacier-${at}/ro-crate-metadata.json`, metadata(`Glacier ${at + 1}`, about, [author])] as const;
  });
  return Object.fromEntries(crates);
}

/** Two steps, of which the second uses what the first made. */
export const steps = {
  'steps/ro-crate-metadata.json': metadata('Two steps', { mentions: refer('#one', '#two') }, [
    {
      '@id': '#one',
      '@type': 'CreateAction',
      name: 'Measure',
      startTime: '2024-01-01T10:00:00Z',
      instrument: refer('measure.py'),
      agent: refer('#ada'),
      result: refer('lengths.csv'),
    },
    {
      '@id': '#two',
      '@type': 'CreateAction',
      name: 'Average',
      startTime: '2024-01-01T11:00:00Z',
      object: refer('lengths.csv'),
      result: refer('mean.txt'),
    },
    { '@id': '#ada', '@type': 'Person', name: 'Ada Byron' },
    file('measure.py'),
    file('lengths.csv'),
    file('mean.txt'),
  ]),
  'steps/measure.py': 'print(1)\n',
  'steps/lengths.csv': 'year,length\n1990,12.4\n',
  'steps/mean.txt': '12.4',
  'steps/ro-crate-preview.html': '<!doctype html><h1>What we did</h1><img src="plot.svg" alt="A plot">',
  'steps/plot.svg':
    '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>',
};

/** Each uses what the other made, and one what it made itself. */
export const cycle = {
  'cycle/ro-crate-metadata.json': metadata('A cycle', {}, [
    { '@id': '#one', '@type': 'CreateAction', name: 'One', object: refer('a'), result: refer('b') },
    { '@id': '#two', '@type': 'CreateAction', name: 'Two', object: refer('b'), result: refer('a') },
    {
      '@id': '#self',
      '@type': 'CreateAction',
      name: 'Self',
      object: refer('c', '#self'),
      result: refer('c'),
    },
    file('a'),
    file('b'),
    file('c'),
  ]),
};

/** Text of others wherever a page shows it. */
export const hostile = {
  'hostile/ro-crate-metadata.json': metadata(
    `Hostile ${allInjections}`,
    {
      description: allInjections,
      author: refer('#author'),
      keywords: [...injections],
      license: { '@id': 'javascript:alert(1)' },
      identifier: allInjections,
    },
    [
      { '@id': '#author', '@type': 'Person', name: allInjections },
      {
        '@id': '#act',
        '@type': 'CreateAction',
        name: allInjections,
        agent: refer('#author'),
        startTime: allInjections,
        object: refer(...injections),
        result: refer('bad.svg'),
      },
      ...injections.map((text) => file(text, text)),
      file('bad.svg', allInjections),
    ],
  ),
  'hostile/bad.svg': '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
  [`hostile/${injections[1]}.txt`]: 'x',
  'hostile/ro-crate-preview.html': `<!doctype html><meta http-equiv="refresh" content="0;url=/connect">
    <script>document.title = 'ran'; fetch('/library')</script><h1>Inside</h1>
    <img src="/crates" onerror="alert(1)"><img src="bad.svg"><iframe src="/library"></iframe>
    <form action="/crates/sync" method="post"><button>Press</button></form>
    <link rel="stylesheet" href="/connect"><object data="/connect"></object>`,
};

export const hugeFiles = 10_000;

/** Ten thousand files, all made by one action, and five hundred actions more. */
export function makeHugeCrate(): Buffer {
  const names = Array.from({ length: hugeFiles }, (_, at) => `data/part-${String(at).padStart(5, '0')}.csv`);
  const actions = Array.from({ length: 501 }, (_, at) => ({
    '@id': `#run-${at}`,
    '@type': 'CreateAction',
    name: `Run ${at} with ${'a long name '.repeat(20)}`,
    startTime: `2024-01-01T${String(at).padStart(6, '0')}`,
    result: at === 0 ? refer(...names) : [],
  }));
  const bytes = Buffer.from('1\n');
  return archive([
    {
      name: 'ro-crate-metadata.json',
      bytes: Buffer.from(metadata('Huge', {}, [...actions, ...names.map((name) => file(name))])),
    },
    ...names.map((name) => ({ name, bytes })),
  ]);
}

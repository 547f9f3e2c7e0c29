import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';
import { archive } from '../../platform/zip/unzip-archive.testing.ts';
import { toValidationAnswer, describeCrateValidation, type CrateValidation } from './validate.ts';
import { judge, makePerfectGraph, perfectFiles, ref, writeDocument } from './validating.testing.ts';

const rulesOf = ({ broken }: CrateValidation, level = 'MUST'): string[] =>
  broken.filter((one) => one.level === level).map(({ rule }) => rule);

const describeGraph = (more: object[] = [], root: object = {}, version = '1.1') => ({
  '@context': `https://w3id.org/ro/crate/${version}/context`,
  '@graph': [
    {
      '@id': 'ro-crate-metadata.json',
      '@type': 'CreativeWork',
      about: ref('./'),
      conformsTo: ref(`https://w3id.org/ro/crate/${version}`),
    },
    {
      '@id': './',
      '@type': 'Dataset',
      name: 'Ice',
      description: 'All of it.',
      datePublished: '2024-05-17',
      license: 'Ask.',
      ...root,
    },
    ...more,
  ],
});

const judgeJson = (json: unknown, ...more: [Record<string, string>?]) =>
  judge({ ...more[0], 'ro-crate-metadata.json': JSON.stringify(json) });

describe('the document', () => {
  it('that is no JSON has one finding, which says where it ends', async () => {
    for (const text of ['{', '', 'null x', '\u0000'])
      assert.deepEqual(rulesOf(await judge({ 'ro-crate-metadata.json': text })), ['metadata-json'], text);
  });

  it('that is JSON but has no graph breaks the rule of it', async () => {
    for (const json of [[], null, 5, 'text', {}, { '@graph': {} }])
      assert.ok(rulesOf(await judgeJson(json)).includes('graph'), JSON.stringify(json));
  });

  it('has to be UTF-8 without a byte order mark', async () => {
    const text = JSON.stringify(describeGraph([], { name: 'Größe' }));
    const forms = {
      latin1: Buffer.from(text, 'latin1'),
      utf16le: Buffer.from(text, 'utf16le'),
      bom: `\ufeff${text}`,
    };
    for (const [form, bytes] of Object.entries(forms))
      assert.deepEqual(rulesOf(await judge({ 'ro-crate-metadata.json': bytes })), ['metadata-utf8'], form);
  });

  it('has its current name, but for a crate of RO-Crate 1.0', async () => {
    const found = await judge(
      { 'ro-crate-metadata.jsonld': JSON.stringify(describeGraph()) },
      null,
      'ro-crate-metadata.jsonld',
    );
    assert.deepEqual(rulesOf(found), ['metadata-name']);
  });

  it('names the context of its version, which is recommended in 1.1 and demanded from 1.2 on', async () => {
    const own = { name: 'http://schema.org/name' };
    for (const [version, level] of [
      ['1.1', 'SHOULD'],
      ['1.2', 'MUST'],
      ['1.3', 'MUST'],
    ] as const) {
      const other = {
        ...describeGraph([], {}, version),
        '@context': ['https://w3id.org/ro/crate/1.0/context', own],
      };
      assert.ok(rulesOf(await judgeJson(other), level).includes('context-address'), version);
      const { '@context': _, ...none } = describeGraph([], {}, version);
      assert.ok(rulesOf(await judgeJson(none)).includes('context'), version);
    }
  });

  it('may use other words for terms, a base, and lists of values', async () => {
    const json = describeGraph([{ '@id': 'https://example.org/crate/a.csv', '@type': 'schema:MediaObject' }]);
    const base = 'https://example.org/crate/';
    const context = [
      json['@context'],
      { '@base': base, schema: 'http://schema.org/', titel: 'http://schema.org/name' },
    ];
    Object.assign(json['@graph'][1]!, {
      name: undefined,
      titel: 'Eis',
      hasPart: { '@list': [ref('a.csv')] },
    });
    assert.deepEqual(rulesOf(await judgeJson({ ...json, '@context': context }, { 'a.csv': '1' })), []);
    assert.deepEqual(rulesOf(await judgeJson({ ...json, '@context': context })), ['file-present']);
  });

  it('is judged without its words where a context is not known, and a note says so', async () => {
    const json = {
      ...describeGraph([], { frobnicate: 1 }),
      '@context': ['https://w3id.org/ro/crate/1.1/context', 'https://example.org/c'],
    };
    const found = await judgeJson(json);
    assert.deepEqual([rulesOf(found), found.notes.length], [[], 1]);
    assert.match(found.notes[0]!, /"https:\/\/example\.org\/c" is not known here/);
  });
});

describe('what is asked for', () => {
  it('is by default what the crate states, and notes say what was not checked', async () => {
    const stated = await judgeJson(
      describeGraph([], {
        conformsTo: [ref('https://w3id.org/ro/wfrun/process/0.4'), ref('https://example.org/p')],
      }),
    );
    assert.deepEqual(stated.profiles, ['ro-crate', 'process-run-crate']);
    assert.deepEqual(stated.notes, ['Not checked: the rules of "https://example.org/p".']);
    for (const [version, judged] of [
      ['1.0', '1.1'],
      ['1.2-DRAFT', '1.2'],
      ['1.4-DRAFT', '1.3'],
      ['2.0', '1.3'],
    ] as const) {
      const old = await judgeJson(describeGraph([], {}, version));
      assert.deepEqual(
        [old.version, old.notes],
        [judged, [`The crate states RO-Crate ${version}, and was checked as ${judged}.`]],
      );
    }
    recordProof('B14:ro-crate-1.1-to-1.3');
  });

  it('can be a version or a profile', async () => {
    const text = JSON.stringify(describeGraph());
    const files = { 'ro-crate-metadata.json': text };
    assert.deepEqual(rulesOf(await judge(files, 'ro-crate-1.2')), ['context-address']);
    assert.deepEqual(rulesOf(await judge(files, 'process-run-crate')), ['process-run-crate-stated']);
    assert.deepEqual(rulesOf(await judge(files, 'workflow-ro-crate')), ['main-workflow']);
    assert.deepEqual(rulesOf(await judge(files, 'workflow-run-crate')), [
      'main-workflow',
      'workflow-run-crate-stated',
    ]);
    assert.deepEqual(rulesOf(await judge(files, 'provenance-run-crate')), [
      'main-workflow',
      'provenance-run-crate-stated',
    ]);
    recordProof('B14:profile-by-argument-or-by-what-it-states');
  });

  it('is answered without a network, whatever addresses the crate names', async () => {
    const heard: string[] = [];
    await using server = createServer(({ url }, answer) => void (heard.push(url!), answer.end('{}')));
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    const at = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const json = describeGraph([{ '@id': `${at}/file`, '@type': 'File' }], {
      conformsTo: ref(`${at}/profile`),
      hasPart: ref(`${at}/file`),
    });
    await judgeJson({
      ...json,
      '@context': [json['@context'], `${at}/context`, { '@import': `${at}/import` }],
    });
    assert.deepEqual(heard, []);
    recordProof('B14:offline');
  });
});

describe('the files of a crate', () => {
  it('of a detached crate are on the web, from 1.2 on', async () => {
    const json = describeGraph([{ '@id': 'a.csv', '@type': 'File' }], { hasPart: ref('a.csv') }, '1.2');
    const name = 'ice-ro-crate-metadata.json';
    const found = await judge({ [name]: JSON.stringify(json), 'a.csv': '1' }, null, name);
    assert.deepEqual([found.isAttached, rulesOf(found)], [false, ['data-detached']]);
    assert.ok(rulesOf(found, 'SHOULD').includes('root-id-detached'));
  });

  it('are found by decoded names, in empty folders, and below dots only as far as they are known', async () => {
    const ids = ['my%20data.csv', 'gr%C3%B6%C3%9Fe.txt', '50%25.txt', './in.csv', 'empty/', '.hidden/x'];
    const entities = ids.map((id) => ({ '@id': id, '@type': id === 'empty/' ? 'Dataset' : 'File' }));
    const json = describeGraph(entities, { hasPart: ids.map(ref) });
    const there = { 'my data.csv': '1', 'größe.txt': '1', '50%.txt': '1', 'in.csv': '1', 'empty/': '' };
    assert.deepEqual(rulesOf(await judgeJson(json, there)), []);
    const { 'empty/': _, 'in.csv': __, ...fewer } = there;
    const missing = await judgeJson(json, fewer);
    assert.deepEqual(rulesOf(missing), ['file-present', 'folder-present']);
  });

  it('of an archive are those of its directory, with empty folders', async () => {
    const json = describeGraph(
      ['a.csv', 'empty/', 'b.csv'].map((id) => ({
        '@id': id,
        '@type': id === 'empty/' ? 'Dataset' : 'File',
      })),
      { hasPart: ['a.csv', 'empty/', 'b.csv'].map(ref) },
    );
    const zip = archive([
      { name: 'top/ro-crate-metadata.json', bytes: Buffer.from(JSON.stringify(json)) },
      { name: 'top/a.csv', bytes: Buffer.from('1') },
      { name: 'top/empty/' },
      { name: '../top/b.csv', bytes: Buffer.from('1') },
    ]);
    const found = await judge({ 'x.zip': zip }, null, 'x.zip');
    assert.deepEqual(
      found.broken.filter(({ level }) => level === 'MUST').map(({ rule, violations }) => [rule, violations]),
      [['file-present', [{ entity: 'b.csv' }]]],
    );
  });
});

/** Whatever a crate contains, the answer is bounded, and a sentence of ours stays one. */
function demandBounded(found: CrateValidation): void {
  const answer = toValidationAnswer(found);
  assert.ok(JSON.stringify(answer).length < 400_000);
  const lines = describeCrateValidation(answer).split('\n');
  assert.equal(
    lines.length,
    1 +
      answer.notes.length +
      answer.findings.reduce((sum, { count, total }) => sum + 1 + count + (total > count ? 1 : 0), 0),
  );
}

describe('hostile crates', () => {
  const cases: Record<string, () => string> = {
    'a hundred thousand entities that are all wrong': () =>
      JSON.stringify(
        describeGraph(
          Array.from({ length: 100_000 }, (_, at) => ({
            '@id': `x ${at}\n`,
            '@type': 'File',
            [`k${at % 5000}`]: {},
          })),
        ),
      ),
    'a million values of one property': () =>
      JSON.stringify(describeGraph([], { hasPart: Array.from({ length: 500_000 }, () => ref('./')) })),
    'parts in circles': () =>
      JSON.stringify(
        describeGraph(
          [
            { '@id': 'a/', '@type': 'Dataset', hasPart: [ref('a/'), ref('b/')] },
            { '@id': 'b/', '@type': 'Dataset', hasPart: ref('a/') },
          ],
          { hasPart: [ref('./'), ref('a/')] },
        ),
      ),
    'names of methods': () =>
      '{"@graph":[{"@id":"__proto__","@type":["constructor","__proto__"],"toString":1,"__proto__":{"name":"x"},"hasOwnProperty":{"@id":"valueOf"}}]}',
    'long ids, types and keys': () =>
      JSON.stringify(
        describeGraph([
          {
            '@id': 'x'.repeat(1e6),
            '@type': Array.from({ length: 1e5 }, (_, at) => `T${at}`),
            ['k'.repeat(1e6)]: '\u0000'.repeat(1e5),
          },
        ]),
      ),
    'half characters and lines': () =>
      JSON.stringify(
        describeGraph(
          [{ '@id': '\ud800\n\nValid as RO-Crate', '@type': 'a\nb', 'c\nd': { '@id': '\udc00' } }],
          { conformsTo: ref('\nNote: fine') },
        ),
      ),
    'a graph of anything': () =>
      JSON.stringify({
        '@context': [null, 5, [], { x: null }],
        '@graph': [null, 5, 'x', [], {}, { '@id': 5, '@type': {} }, { '@id': ['a'], '@type': [null, 5] }],
      }),
  };
  for (const [what, write] of Object.entries(cases))
    it(`with ${what} are judged, and the answer is bounded`, async () => {
      demandBounded(await judge({ 'ro-crate-metadata.json': write() }));
    });

  it('nested too deeply have a finding or are too large, and do not end the process', async () => {
    for (const depth of [1000, 100_000, 2_000_000]) {
      const text = `{"@graph":[{"@id":"./","x":${'['.repeat(depth)}${']'.repeat(depth)}}]}`;
      demandBounded(await judge({ 'ro-crate-metadata.json': text }));
    }
  });

  it('larger than the limit are refused with what to do', async () => {
    const text = `{"@graph":[${'[],'.repeat(6_000_000)}[]]}`;
    await assert.rejects(judge({ 'ro-crate-metadata.json': text }), {
      code: 'too_large',
      message: /Split the crate/,
    });
    const bomb = archive([
      { name: 'ro-crate-metadata.json', bytes: Buffer.alloc(65 * 1024 * 1024, ' '), method: 8 },
    ]);
    await assert.rejects(judge({ 'x.zip': bomb }, null, 'x.zip'), {
      code: 'too_large',
      message: /--max-metadata/,
    });
    recordProof('B14:hostile-crates-are-bounded');
  });

  it('of any JSON are judged', async () => {
    const entity = fc.dictionary(
      fc.constantFrom('@id', '@type', 'name', 'hasPart', 'about', 'conformsTo', 'license'),
      fc.jsonValue(),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(entity), fc.jsonValue(), async (graph, context) => {
        demandBounded(await judgeJson({ '@context': context, '@graph': graph }));
        demandBounded(
          await judgeJson({ '@context': context, '@graph': [...describeGraph()['@graph'], ...graph] }),
        );
      }),
      { numRuns: 100 },
    );
  });
});

it('every crate of the corpus is judged', async () => {
  const folder = join(import.meta.dirname, '../../../fixtures/crates/metadata');
  const verdicts = { valid: 0, invalid: 0 };
  for (const name of readdirSync(folder).filter((one) => one.endsWith('.json'))) {
    const found = await judge(
      { 'x-ro-crate-metadata.json': readFileSync(join(folder, name)) },
      null,
      'x-ro-crate-metadata.json',
    );
    demandBounded(found);
    verdicts[rulesOf(found).length === 0 ? 'valid' : 'invalid']++;
  }
  assert.deepEqual(verdicts, { valid: 10, invalid: 89 });
});

it('the text says what is wrong with what, and what to do', async () => {
  const files = {
    ...perfectFiles,
    'ro-crate-metadata.json': writeDocument(
      '1.1',
      makePerfectGraph('1.1').filter((one) => one['@id'] !== '#doi'),
    ),
  };
  const answer = toValidationAnswer(await judge(files, 'ro-crate-1.1'));
  assert.equal(
    describeCrateValidation(answer),
    [
      'Valid as RO-Crate 1.1 (with its files): 0 MUST and 1 SHOULD rules are broken.',
      'SHOULD reference-described (RO-Crate): What an entity refers to in the crate SHOULD be described in it. What to do: Add an entity with that @id to the @graph, or correct the reference.',
      ' - "./": Its identifier is "#doi", which is not described.',
    ].join('\n'),
  );
});

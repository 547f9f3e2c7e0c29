import assert from 'node:assert/strict';
import { test } from 'node:test';
import { descriptor, issuesOf, readGraph, readRootWith, root } from './metadata.testing.ts';

const part = {
  '@id': 'part/',
  '@type': 'Dataset',
  name: 'Part',
  description: 'd',
  datePublished: '2020',
  license: 'MIT',
};
const partDescriptor = { ...descriptor, '@id': 'part/ro-crate-metadata.json', about: { '@id': 'part/' } };

/** The issues about descriptor and root alone. */
function findingsOf(graph: unknown[]): [title: string, ...issues: string[]] {
  const crate = readGraph(graph);
  const codes = crate.issues.map(({ code }) => code);
  return [crate.title, ...codes.filter((code) => /descriptor|^root_(?!without)/.test(code))];
}

test('the root is what the descriptor is about, whatever it is called', () => {
  const cases: [string, ...string[]][] = [
    ['./'],
    ['https://doi.org/10.4225/59/59672c09f4a4b'],
    ['urn:uuid:1234'],
    ['.', 'root_id_odd'],
    ['lakes/', 'root_id_odd'],
    ['#root', 'root_id_odd'],
  ];
  for (const [id, ...issues] of cases) {
    const graph = [part, { ...root, '@id': id }, { ...descriptor, about: [{ '@id': id }] }];
    assert.deepEqual(findingsOf(graph), ['Lakes', ...issues], id);
  }
});

test('the descriptor is known by its name, its old name, the end of its name, or what it conforms to', () => {
  const cases: [string, ...string[]][] = [
    ['./ro-crate-metadata.json'],
    ['ro-crate-metadata.jsonld', 'legacy_descriptor'],
    ['https://example.org/lakes/ro-crate-metadata.json', 'descriptor_elsewhere'],
    ['lakes-ro-crate-metadata.json', 'descriptor_elsewhere'],
    ['metadata.json', 'descriptor_by_profile'],
  ];
  for (const [id, ...issues] of cases)
    assert.deepEqual(findingsOf([part, root, { ...descriptor, '@id': id }]), ['Lakes', ...issues], id);
});

test('the descriptor of a part is not that of the crate', () => {
  const { about: _, ...unsaid } = descriptor;
  assert.deepEqual(findingsOf([part, partDescriptor, root, descriptor]), ['Lakes']);
  assert.deepEqual(findingsOf([part, partDescriptor, root, unsaid]), [
    'Lakes',
    'descriptor_without_about',
    'root_by_id',
  ]);
  const legacy = { ...descriptor, '@id': 'ro-crate-metadata.jsonld' };
  assert.deepEqual(findingsOf([unsaid, legacy, root]), ['Lakes', 'legacy_descriptor']);
});

test('without a word of the descriptor the root is guessed, and each guess is told', () => {
  const whole = { ...root, '@id': 'https://example.org/', hasPart: { '@id': 'part/' } };
  const ring = [
    { ...part, hasPart: { '@id': 'b/' } },
    { ...part, '@id': 'b/', hasPart: { '@id': 'part/' } },
  ];
  const cases: [unknown[], string, ...string[]][] = [
    [[part, root], 'Lakes', 'no_descriptor', 'root_by_id'],
    [[part, whole], 'Lakes', 'no_descriptor', 'root_by_parts'],
    [ring, 'Part', 'no_descriptor', 'root_first_dataset', 'root_id_odd'],
    [
      [{ '@id': 'urn:x', '@type': 'Thing', name: 'X' }],
      'X',
      'no_descriptor',
      'root_first_entity',
      'root_not_dataset',
    ],
    [[{ ...descriptor, about: { '@id': 'gone' } }, root], 'Lakes', 'descriptor_about_nothing', 'root_by_id'],
    [
      [{ ...descriptor, about: { '@id': descriptor['@id'] } }, root],
      'Lakes',
      'descriptor_about_nothing',
      'root_by_id',
    ],
  ];
  for (const [graph, ...expected] of cases) assert.deepEqual(findingsOf(graph), expected);
});

test('the version is that which the descriptor or else the context names', () => {
  const cases: [unknown, string | null][] = [
    [{ '@id': 'https://w3id.org/ro/crate/1.0' }, '1.0'],
    ['https://w3id.org/ro/crate/1.1', '1.1'],
    [{ '@id': 'https://w3id.org/ro/crate/1.1-DRAFT' }, '1.1-DRAFT'],
    [
      [
        { '@id': 'https://w3id.org/workflowhub/workflow-ro-crate/1.0' },
        { '@id': 'https://w3id.org/ro/crate/1.3/' },
      ],
      '1.3',
    ],
    [{ '@id': 'https://researchobject.github.io/ro-crate/1.0/' }, '1.0'],
    [{ '@id': 'https://w3id.org/workflowhub/workflow-ro-crate/1.0' }, '1.2'],
    [undefined, '1.2'],
  ];
  for (const [conformsTo, spec] of cases)
    assert.equal(readGraph([{ ...descriptor, conformsTo }, root]).spec, spec, JSON.stringify(conformsTo));
  const crate = readGraph([{ ...descriptor, conformsTo: [] }, root], 'https://schema.org');
  assert.deepEqual([crate.spec, issuesOf(crate)], [null, { descriptor_without_version: 1 }]);
});

test('profiles are those of the root, and of the descriptor in older crates', () => {
  const [run, workflow] = [
    'https://w3id.org/ro/wfrun/process/0.5',
    'https://w3id.org/workflowhub/workflow-ro-crate/1.0',
  ];
  const profile = { '@id': run, '@type': 'Profile', name: 'Process Run Crate' };
  assert.deepEqual(readRootWith({ conformsTo: [{ '@id': run }, workflow] }, profile).profiles, [
    run,
    workflow,
  ]);
  const old = {
    ...descriptor,
    conformsTo: [{ '@id': 'https://w3id.org/ro/crate/1.1' }, { '@id': workflow }],
  };
  assert.deepEqual(readGraph([old, { ...root, conformsTo: { '@id': run } }]).profiles, [run, workflow]);
});

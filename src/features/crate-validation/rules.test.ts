import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';
import { crateVersions, type CrateVersion } from './context.ts';
import { validationRules } from './validate.ts';
import {
  judge,
  makePerfectGraph,
  perfectFiles,
  ref,
  writeDocument,
  type TestEntity,
  type TestFiles,
} from './validating.testing.ts';

interface Crate {
  readonly graph: TestEntity[];
  readonly files: TestFiles;
  /** The entity with this id. */
  readonly get: (id: string) => TestEntity;
}

/** What breaks a rule, and the entity that does so then. */
interface Breakage {
  readonly rule: string;
  readonly entity: string | null;
  readonly change: (crate: Crate) => void;
  readonly versions?: readonly CrateVersion[];
}

const set =
  (id: string, property: string, value: unknown) =>
  ({ get }: Crate): void => {
    get(id)[property] = value;
  };
const remove =
  (id: string, property: string) =>
  ({ get }: Crate): void => {
    delete get(id)[property];
  };
const add =
  (entity: object) =>
  ({ graph }: Crate): void =>
    void graph.push(entity as TestEntity);

const late = ['1.2', '1.3'] as const;
const early = ['1.1'] as const;

const breakages: readonly Breakage[] = [
  {
    rule: 'graph-entities',
    entity: 'entity 33 of the @graph',
    change: ({ graph }) => void graph.push('text' as never),
  },
  { rule: 'term-defined', entity: './', change: set('./', 'frobnicate', 'x') },
  { rule: 'term-defined', entity: './', change: set('./', 'http://schema.org/abstract', 'x') },
  { rule: 'type-defined', entity: '#doi', change: set('#doi', '@type', ['PropertyValue', 'Frobnicator']) },
  { rule: 'entity-id', entity: 'entity 33 of the @graph', change: add({ '@type': 'Thing', name: 'x' }) },
  { rule: 'entity-type', entity: '#thing', change: add({ '@id': '#thing', name: 'x' }) },
  {
    rule: 'entity-unique',
    entity: '#doi',
    change: add({ '@id': '#doi', '@type': 'PropertyValue', name: 'x', value: 'x' }),
  },
  { rule: 'entity-flat', entity: './', change: set('./', 'about', { '@type': 'Thing', name: 'ice' }) },
  { rule: 'entity-flat', entity: './', change: set('./', 'about', { '@id': '#doi', name: 'ice' }) },
  { rule: 'entity-flat', entity: './', change: set('./', 'keywords', [['ice']]) },
  { rule: 'reference-form', entity: './', change: set('./', 'about', '#doi'), versions: late },
  { rule: 'entity-id-valid', entity: '#a b', change: add({ '@id': '#a b', '@type': 'Thing', name: 'x' }) },
  { rule: 'entity-id-inside', entity: '../x', change: add({ '@id': '../x', '@type': 'Thing', name: 'x' }) },
  {
    rule: 'entity-id-inside',
    entity: '/etc/x',
    change: add({ '@id': '/etc/x', '@type': 'File', name: 'x' }),
  },
  { rule: 'reference-described', entity: './', change: set('./', 'about', ref('#nothing')) },
  { rule: 'entity-name', entity: '#doi', change: remove('#doi', 'name'), versions: late },
  {
    rule: 'entity-referenced',
    entity: '#lost',
    change: add({ '@id': '#lost', '@type': 'Thing' }),
    versions: early,
  },
  {
    rule: 'entity-reachable',
    entity: '#lost',
    change: add({ '@id': '#lost', '@type': 'Thing', about: ref('#lost') }),
    versions: late,
  },
  { rule: 'descriptor', entity: null, change: ({ graph }) => void graph.shift() },
  {
    rule: 'descriptor',
    entity: 'ro-crate-metadata.jsonld',
    change: set('ro-crate-metadata.json', '@id', 'ro-crate-metadata.jsonld'),
  },
  {
    rule: 'descriptor-type',
    entity: 'ro-crate-metadata.json',
    change: set('ro-crate-metadata.json', '@type', 'Thing'),
  },
  {
    rule: 'descriptor-about',
    entity: 'ro-crate-metadata.json',
    change: remove('ro-crate-metadata.json', 'about'),
  },
  {
    rule: 'descriptor-about',
    entity: 'ro-crate-metadata.json',
    change: set('ro-crate-metadata.json', 'about', ref('./x/')),
  },
  {
    rule: 'descriptor-about',
    entity: 'ro-crate-metadata.json',
    change: set('ro-crate-metadata.json', 'about', [ref('./'), ref('data/')]),
  },
  {
    rule: 'descriptor-version',
    entity: 'ro-crate-metadata.json',
    change: remove('ro-crate-metadata.json', 'conformsTo'),
  },
  {
    rule: 'descriptor-one-version',
    entity: 'ro-crate-metadata.json',
    change: ({ get }) => {
      const descriptor = get('ro-crate-metadata.json');
      descriptor['conformsTo'] = [descriptor['conformsTo'], ref('https://w3id.org/ro/wfrun/process/0.5')];
    },
    versions: late,
  },
  { rule: 'root-type', entity: './', change: set('./', '@type', 'CreativeWork') },
  {
    rule: 'root-id-slash',
    entity: 'https://example.org/crate',
    change: renameRoot('https://example.org/crate'),
    versions: early,
  },
  { rule: 'root-id', entity: 'crate/', change: renameRoot('crate/') },
  { rule: 'root-name', entity: './', change: set('./', 'name', ' ') },
  { rule: 'root-description', entity: './', change: set('./', 'description', ref('#doi')) },
  { rule: 'root-date', entity: './', change: remove('./', 'datePublished') },
  { rule: 'root-date', entity: './', change: set('./', 'datePublished', '11/27/2023') },
  {
    rule: 'root-date',
    entity: './',
    change: set('./', 'datePublished', ['2024-05-17', '2024-05-18']),
    versions: late,
  },
  { rule: 'root-date-day', entity: './', change: set('./', 'datePublished', '2024') },
  { rule: 'root-license', entity: './', change: remove('./', 'license') },
  { rule: 'root-license-entity', entity: './', change: set('./', 'license', 'Ask me.') },
  { rule: 'root-author', entity: './', change: remove('./', 'author') },
  { rule: 'root-publisher', entity: './', change: remove('./', 'publisher') },
  { rule: 'root-identifier-value', entity: '#doi', change: remove('#doi', 'value'), versions: late },
  {
    rule: 'profile-described',
    entity: 'https://example.org/p',
    change: ({ get }) => void (get('./')['conformsTo'] as object[]).push(ref('https://example.org/p')),
    versions: late,
  },
  { rule: 'data-linked', entity: 'new.csv', change: addFile('new.csv', { 'new.csv': '1\n' }, false) },
  { rule: 'file-present', entity: 'gone.csv', change: addFile('gone.csv', {}) },
  { rule: 'folder-present', entity: 'gone/', change: addFile('gone/', {}, true, 'Dataset') },
  { rule: 'data-id', entity: 'my data.csv', change: addFile('my data.csv', { 'my data.csv': '1\n' }) },
  { rule: 'data-type', entity: 'x.csv', change: addFile('x.csv', { 'x.csv': '1\n' }, true, 'CreativeWork') },
  { rule: 'folder-slash', entity: 'more', change: addFile('more', { 'more/x': '1\n' }, true, 'Dataset') },
  { rule: 'file-format', entity: 'in.csv', change: remove('in.csv', 'encodingFormat') },
  { rule: 'file-size', entity: 'in.csv', change: set('in.csv', 'contentSize', '3') },
  { rule: 'file-size-stated', entity: 'in.csv', change: remove('in.csv', 'contentSize'), versions: late },
  {
    rule: 'web-date',
    entity: 'https://example.org/x.csv',
    change: remove('https://example.org/x.csv', 'sdDatePublished'),
  },
  {
    rule: 'preview-html',
    entity: 'ro-crate-preview.html',
    change: ({ files }) => void (files['ro-crate-preview.html'] = '<html>'),
  },
  { rule: 'software', entity: '#cwl', change: remove('#cwl', 'url') },
  {
    rule: 'script-types',
    entity: 'x.py',
    change: addFile('x.py', { 'x.py': '1\n' }, true, 'SoftwareSourceCode'),
  },
  { rule: 'action-time', entity: '#run', change: set('#run', 'startTime', 'yesterday') },
  {
    rule: 'citation-url',
    entity: '#paper',
    change: (crate) => (
      set('./', 'citation', ref('#paper'))(crate),
      add({ '@id': '#paper', '@type': 'Book', name: 'x' })(crate)
    ),
  },
  { rule: 'thumbnail-file', entity: './', change: set('./', 'thumbnail', ref('#doi')) },
  { rule: 'author-entity', entity: '#doi', change: set('in.csv', 'author', ref('#doi')) },
  {
    rule: 'person-affiliation',
    entity: 'https://orcid.org/0000-0002-1825-0097',
    change: set('https://orcid.org/0000-0002-1825-0097', 'affiliation', 'Brown'),
  },
  {
    rule: 'provenance-run-crate-stated',
    entity: 'https://w3id.org/ro/wfrun/provenance/0.5',
    change: set('https://w3id.org/ro/wfrun/provenance/0.5', '@type', 'Thing'),
  },
  {
    rule: 'process-run-crate-stated',
    entity: 'https://w3id.org/ro/wfrun/process/0.5',
    change: set('https://w3id.org/ro/wfrun/process/0.5', '@type', 'Thing'),
  },
  {
    rule: 'workflow-run-crate-stated',
    entity: 'https://w3id.org/ro/wfrun/workflow/0.5',
    change: set('https://w3id.org/ro/wfrun/workflow/0.5', '@type', 'Thing'),
  },
  { rule: 'action-instrument', entity: '#run', change: remove('#run', 'instrument') },
  { rule: 'action-instrument', entity: '#run', change: set('#run', 'instrument', ref('#nothing')) },
  { rule: 'action-instrument-type', entity: '#run', change: set('#run', 'instrument', ref('#doi')) },
  { rule: 'action-mentioned', entity: '#run', change: set('./', 'mentions', [ref('#tool-run')]) },
  { rule: 'action-name', entity: '#run', change: remove('#run', 'name') },
  { rule: 'action-description', entity: '#run', change: remove('#run', 'description') },
  { rule: 'action-end', entity: '#run', change: remove('#run', 'endTime') },
  { rule: 'action-agent', entity: '#run', change: remove('#run', 'agent') },
  { rule: 'action-result', entity: '#run', change: remove('#run', 'result') },
  { rule: 'action-things', entity: '#run', change: set('#run', 'object', ref('#step')) },
  { rule: 'action-status', entity: '#run', change: set('#run', 'actionStatus', 'done') },
  { rule: 'action-error', entity: '#run', change: set('#run', 'error', 'oh') },
  { rule: 'tool-version', entity: '#tool', change: set('#tool', 'softwareVersion', '1') },
  { rule: 'collection', entity: '#all', change: remove('#all', 'mainEntity') },
  { rule: 'container-image', entity: '#image', change: remove('#image', 'registry') },
  { rule: 'main-workflow', entity: './', change: remove('./', 'mainEntity') },
  { rule: 'main-workflow-types', entity: 'in.csv', change: set('./', 'mainEntity', ref('in.csv')) },
  { rule: 'main-workflow-language', entity: 'main.cwl', change: remove('main.cwl', 'programmingLanguage') },
  {
    rule: 'further-profiles',
    entity: './',
    change: ({ get }) => void (get('./')['conformsTo'] as object[]).pop(),
  },
  { rule: 'workflow-run', entity: 'main.cwl', change: set('#run', 'instrument', ref('#tool')) },
  { rule: 'parameter-reference', entity: 'main.cwl', change: set('main.cwl', 'input', ref('#doi')) },
  { rule: 'parameter-type', entity: '#input', change: remove('#input', 'additionalType') },
  { rule: 'parameter-name', entity: '#input', change: remove('#input', 'name') },
  { rule: 'parameter-value', entity: '#input', change: set('#input', 'workExample', ref('#tool')) },
  { rule: 'parameter-realized', entity: '#output', change: remove('out.csv', 'exampleOfWork') },
  { rule: 'workflow-tools', entity: 'main.cwl', change: remove('main.cwl', 'hasPart') },
  {
    rule: 'workflow-howto',
    entity: 'main.cwl',
    change: set('main.cwl', '@type', ['File', 'SoftwareSourceCode', 'ComputationalWorkflow']),
  },
  { rule: 'workflow-connection', entity: 'main.cwl', change: set('main.cwl', 'connection', ref('#doi')) },
  { rule: 'step-tool', entity: '#step', change: remove('#step', 'workExample') },
  { rule: 'step-connection', entity: '#step', change: set('#step', 'connection', ref('#doi')) },
  { rule: 'step-of-workflow', entity: '#step', change: remove('main.cwl', 'step') },
  { rule: 'step-position', entity: '#step', change: set('#step', 'position', 'first') },
  { rule: 'connection-source', entity: '#connection', change: remove('#connection', 'sourceParameter') },
  { rule: 'connection-target', entity: '#connection', change: remove('#connection', 'targetParameter') },
  { rule: 'control-step', entity: '#step-run', change: remove('#step-run', 'instrument') },
  { rule: 'control-object', entity: '#step-run', change: remove('#step-run', 'object') },
  { rule: 'organize-engine', entity: '#engine-run', change: remove('#engine-run', 'instrument') },
  { rule: 'organize-object', entity: '#engine-run', change: remove('#engine-run', 'object') },
  { rule: 'organize-result', entity: '#engine-run', change: remove('#engine-run', 'result') },
  { rule: 'tool-parameters', entity: '#tool', change: set('#tool', 'input', ref('#doi')) },
  { rule: 'tool-run', entity: '#tool', change: set('#tool-run', 'instrument', ref('main.cwl')) },
  { rule: 'resource-usage', entity: '#memory', change: remove('#memory', 'propertyID') },
];

function renameRoot(id: string) {
  return ({ get }: Crate): void => {
    get('ro-crate-metadata.json')['about'] = ref(id);
    get('./')['@id'] = id;
  };
}

function addFile(id: string, files: TestFiles, isLinked = true, type = 'File') {
  return (crate: Crate): void => {
    const described = { name: id, encodingFormat: 'text/csv', contentSize: '2' };
    add({ '@id': id, '@type': type, ...described })(crate);
    Object.assign(crate.files, files);
    if (isLinked) (crate.get('./')['hasPart'] as object[]).push(ref(id));
  };
}

function makeCrate(version: CrateVersion): Crate {
  const graph = structuredClone(makePerfectGraph(version));
  return { graph, files: { ...perfectFiles }, get: (id) => graph.find((one) => one['@id'] === id)! };
}

const judgeCrate = (version: CrateVersion, { graph, files }: Crate) =>
  judge({ ...files, 'ro-crate-metadata.json': writeDocument(version, graph) });

for (const version of crateVersions)
  describe(`RO-Crate ${version}`, () => {
    it('a crate that keeps every rule of it and of all profiles has no finding', async () => {
      const crate = await judgeCrate(version, makeCrate(version));
      assert.deepEqual(crate.broken, []);
      assert.deepEqual([crate.version, crate.profiles.length, crate.notes], [version, 5, []]);
    });

    for (const { rule, entity, change, versions = crateVersions } of breakages)
      if (versions.includes(version))
        it(`${rule} is broken by ${entity ?? 'the document'}: ${change.name || 'a change'}`, async () => {
          const crate = makeCrate(version);
          change(crate);
          const { broken } = await judgeCrate(version, crate);
          const found = broken.find((one) => one.rule === rule);
          assert.ok(found, `found ${broken.map((one) => one.rule).join(', ')}`);
          assert.deepEqual(
            found.violations.map((one) => one.entity),
            [entity],
          );
          const declared = validationRules.find((one) => one.id === rule && one.versions.includes(version));
          assert.deepEqual(
            [found.level, found.text, found.remedy],
            [declared!.level, declared!.text, declared!.remedy],
          );
        });
  });

/** Those that need another document than a graph are in `validate.test.ts`. */
const testedElsewhere = [
  'metadata-name',
  'metadata-utf8',
  'graph',
  'context',
  'context-address',
  'root-id-detached',
  'data-detached',
];

for (const profile of ['process-run-crate', 'workflow-run-crate'] as const)
  it(`each rule of the profile ${profile} is found where it is broken, with the entity`, async () => {
    const own = new Set(validationRules.filter((one) => one.profile === profile).map(({ id }) => id));
    const [version] = crateVersions;
    const tried = breakages.filter(
      ({ rule, versions = crateVersions }) => own.has(rule) && versions.includes(version),
    );
    assert.ok(tried.length >= 5, `${tried.length} rules`);
    for (const { rule, entity, change } of tried) {
      const crate = makeCrate(version);
      change(crate);
      const { broken } = await judgeCrate(version, crate);
      const found = broken.filter((one) => one.rule === rule).flatMap(({ violations }) => violations);
      assert.deepEqual([rule, ...found.map((one) => one.entity)], [rule, entity]);
    }
    if (profile === 'process-run-crate') recordProof('B14:process-run-crate');
    else recordProof('B14:workflow-run-crate');
  });

it('every rule has a breakage here, an id of its own, a level that its text names, and a remedy', () => {
  const tested = new Set([...breakages.map(({ rule }) => rule), ...testedElsewhere]);
  assert.deepEqual(
    validationRules.map(({ id }) => id).filter((id) => !tested.has(id)),
    [],
  );
  for (const { id, level, text, remedy, versions } of validationRules) {
    assert.match(text, new RegExp(`\\b${level}\\b`), id);
    assert.match(remedy, /^[A-Z].*\.$/, id);
    for (const version of versions)
      assert.equal(
        validationRules.filter((one) => one.id === id && one.versions.includes(version)).length,
        1,
        id,
      );
  }
  recordProof('B14:each-finding-with-the-entity-and-what-to-do');
});

/** Every outcome of the tools for crates. */
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { archive } from '../../../src/platform/zip/unzip-archive.testing.ts';
import { metadata, zipFixture } from '../backends/crates.testing.ts';
import { upload } from '../../server.testing.ts';
import { writeFiles, type Stage } from './stage.testing.ts';

const glaciers = metadata(
  'Glaciers of Jotunheimen',
  {
    description: 'Lengths of glaciers, measured every summer by hand.',
    author: { '@id': '#ada' },
    keywords: ['ice', 'climate'],
    identifier: 'https://doi.org/10.1234/ice',
    license: { '@id': 'https://spdx.org/licenses/CC-BY-4.0' },
    conformsTo: { '@id': 'https://w3id.org/ro/wfrun/process/0.4' },
    mainEntity: { '@id': 'data/glaciers.csv' },
    hasPart: [{ '@id': 'data/glaciers.csv' }, { '@id': 'data/lost.csv' }],
  },
  [
    { '@id': '#ada', '@type': 'Person', name: 'Ada Byron', affiliation: { '@id': '#oslo' } },
    { '@id': '#oslo', '@type': 'Organization', name: 'University of Oslo' },
    { '@id': 'https://spdx.org/licenses/CC-BY-4.0', '@type': 'CreativeWork', name: 'Attribution 4.0' },
    { '@id': 'data/glaciers.csv', '@type': 'File', name: 'glacier lengths' },
  ],
);

const crates = {
  'glaciers/ro-crate-metadata.json': glaciers,
  'glaciers/data/glaciers.csv': 'year,metres\n2020,1200\n2021,1150\n',
  'glaciers/data/large.txt': 'snow\n'.repeat(10_000),
  'rivers/ro-crate-metadata.json': metadata('Rivers of Telemark', {
    description: 'When the ice leaves the rivers.',
    datePublished: 'UNPUBLISHED',
  }),
  'lakes-ro-crate-metadata.json': metadata('Lakes with ice'),
  'seas-ro-crate-metadata.json': metadata('Northern seas'),
  'nested_directory.zip': zipFixture('nested_directory.zip'),
  'unsafe.zip': archive([
    { name: 'ro-crate-metadata.json', bytes: Buffer.from(metadata('Names that lead outside')) },
    { name: '../outside.txt', bytes: Buffer.from('no') },
  ]),
  'many/ro-crate-metadata.json': metadata('Many files'),
  ...Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`many/${at}.csv`, 'year\n'])),
  'broken.zip': 'this is no archive',
  'wrong/ro-crate-metadata.json': metadata(
    'Wrong in many ways',
    { hasPart: [], conformsTo: { '@id': 'https://example.org/profile' } },
    Array.from({ length: 15 }, (_, at) => ({ '@id': `gone ${at}.csv`, '@type': 'File', 'odd term': 1 })),
  ),
  'good/ro-crate-metadata.json': metadata('Keeps every rule', {
    description: 'It does.',
    license: 'Use it.',
  }),
};

export async function showCrates(stage: Stage): Promise<void> {
  const { call, refuse, sources } = stage;
  await call('index_status', {});
  await call('sync_index', {});
  await writeFiles(sources[0], crates);
  await writeFiles(sources[1], { 'soon-ro-crate-metadata.json': metadata('Soon out of reach') });
  await call('sync_index', {});
  await call('sync_index', {});
  await rm(`${sources[0]}/lakes-ro-crate-metadata.json`);
  await rm(sources[1], { recursive: true });
  await call('sync_index', {});
  await call('index_status', { limit: 1 });
  await showSyncing(stage);
  await showSearches(stage);
  const id = async (query: string): Promise<string> =>
    (await call('search_index', { query, mode: 'keyword' })).data.results[0].crate_id;
  const { results } = (await call('search_index', { query: '', limit: 100 })).data;
  const zipped = results.find((one: { resource_locator: string }) =>
    one.resource_locator.endsWith('nested_directory.zip'),
  );
  await showContents(stage, await id('jotunheimen'), zipped.crate_id);
  for (const query of ['rivers', 'soon']) await call('get_crate', { crate_id: await id(query) });
  for (const query of ['outside', '"many files"'])
    await call('list_crate_files', { crate_id: await id(query) });
  for (const query of [
    'jotunheimen',
    'outside',
    'rivers',
    '"wrong in many ways"',
    '"every rule"',
    '"northern seas"',
  ])
    await call('validate_crate', { crate_id: await id(query) });
  await call('validate_crate', { crate_id: await id('rivers'), profile: 'workflow-run-crate' });
  await showPacking(stage);
  const none = { crate_id: `crate_${'0'.repeat(24)}` };
  for (const tool of ['sync_index', 'index_status']) await refuse(tool, { more: true });
  for (const tool of ['get_crate', 'list_crate_files', 'download_crate', 'validate_crate'])
    await refuse(tool, none);
  await refuse('read_crate_file', { ...none, path: 'a.txt' });
}

/** The answer comes from another moment than the sync, so it may take several. */
async function showSyncing({ call }: Stage): Promise<void> {
  const seen = { syncing: false, joined: false, noted: false };
  const entity = { type_name: 'Person', prop_path: 'name', prop_value: 'Ada Byron' };
  await eventually(async () => {
    const syncs = Array.from({ length: 3 }, () => call('sync_index', {}));
    const [status, found] = await Promise.all([call('index_status', {}), call('search_by_entity', entity)]);
    seen.syncing ||= status.data.syncing;
    seen.noted ||= found.data.notes.length > 0;
    for (const { data } of await Promise.all(syncs)) seen.joined ||= data.joined;
    return seen.syncing && seen.joined && seen.noted;
  });
}

async function showSearches({ call, refuse }: Stage): Promise<void> {
  for (const mode of ['keyword', 'semantic', 'hybrid'])
    await call('search_index', { query: 'ice in summer', mode, limit: 1 });
  await call('search_index', { query: 'nofield:ice zzzz', mode: 'keyword' });
  await call('search_index', { query: 'ice', field_filters: { year: '2021' } });
  await refuse('search_index', { query: 'ice', field_filters: { nothing: 'x' } });
  const entity = { type_name: 'Person', prop_path: 'affiliation.name', prop_value: 'University of Oslo' };
  await call('search_by_entity', entity);
  await call('search_by_entity', {
    type_name: '*',
    prop_path: 'name',
    prop_value: 'e',
    exact: false,
    limit: 1,
  });
  await call('search_by_entity', { ...entity, prop_value: 'Nowhere' });
  await refuse('search_by_entity', { ...entity, entry_field: 'license' });
  await call('list_searchable_fields', {});
  await call('list_searchable_fields', { name: 'Person' });
  await refuse('list_searchable_fields', { more: true });
}

async function showContents({ call, refuse }: Stage, crate_id: string, zipped: string): Promise<void> {
  await call('get_crate', { crate_id });
  await call('get_crate', { crate_id: zipped });
  await call('list_crate_files', { crate_id, limit: 2 });
  const { files } = (await call('list_crate_files', { crate_id: zipped })).data;
  await call('list_crate_files', { crate_id, glob: '*.none' });
  const [text, large] = ['data/glaciers.csv', 'data/large.txt'];
  await call('read_crate_file', { crate_id, path: text });
  await call('read_crate_file', { crate_id, path: large });
  await refuse('read_crate_file', { crate_id, path: 'none.txt' });
  await call('read_crate_file', { crate_id, path: text, delivery: 'link' });
  await call('read_crate_file', { crate_id: zipped, path: files[0].path, delivery: 'link' });
  await call('download_crate', { crate_id });
  await call('download_crate', { crate_id: zipped });
  await call('download_crate', { crate_id: zipped, delivery: 'base64' });
}

async function showPacking({ server, call, refuse }: Stage): Promise<void> {
  const ran = (await server.call('search_executions', { text: 'print(40 + 2)' })).data?.executions[0];
  assert.ok(ran !== undefined, 'runs come before crates');
  await call('pack_crate', { execution_id: ran.execution_id, title: 'A packed run' });
  const long = (await server.call('search_executions', { text: '"out " * 5000' })).data.executions[0];
  await call('delete_file', {
    file_id: (await server.call('get_execution', { execution_id: long.execution_id })).data.stdout_file,
  });
  await call('pack_crate', { execution_id: long.execution_id, title: 'With notes' });
  await call('pack_crate', { file_ids: [await upload(server, 'packed.txt', 'packed')], shared: true });
  await refuse('pack_crate', {});
}

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { backends } from '../../server.testing.ts';
import { metadata, startCrateServer, zipFixture, type CrateServer } from './crates.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { countTokens } from '../../tokens.testing.ts';

const ada = { '@id': '#ada', '@type': 'Person', name: 'Ada Byron', affiliation: { '@id': '#oslo' } };
const oslo = { '@id': '#oslo', '@type': 'Organization', name: 'University of Oslo' };
const csv = { '@id': 'data/glaciers.csv', '@type': 'File', name: 'glacier lengths' };

const crates = {
  'glaciers/ro-crate-metadata.json': metadata(
    'Glaciers of Jotunheimen',
    {
      description: 'Lengths of glaciers, measured every summer by hand.',
      author: { '@id': '#ada' },
      keywords: ['ice', 'climate'],
      license: { '@id': 'https://spdx.org/licenses/CC-BY-4.0' },
      hasPart: [{ '@id': 'data/glaciers.csv' }],
    },
    [ada, oslo, csv],
  ),
  'glaciers/data/glaciers.csv': 'year,metres\n2020,1200\n2021,1150\n',
  'glaciers/data/large.txt': 'snow\n'.repeat(10_000),
  'rivers/ro-crate-metadata.jsonld': metadata('Rivers of Telemark', {
    description: 'Water levels of rivers, and when the ice leaves them.',
    datePublished: '2019',
  }),
  'notes-ro-crate-metadata.json': metadata('Notes without files', { datePublished: 'UNPUBLISHED' }),
  'eln/PASTA.eln': zipFixture('PASTA.eln'),
  'zips/workflow-0.2.0.zip': zipFixture('workflow-0.2.0.zip'),
  'zips/nested_directory.zip': zipFixture('nested_directory.zip'),
  'zips/just_a_zip.zip': zipFixture('just_a_zip.zip'),
  'zips/broken.zip': 'this is no archive',
};

const sourceKind = /s3/.test(backends) ? 's3' : /azure/.test(backends) ? 'azure' : 'folder';
const isRemote = sourceKind !== 'folder';

describe(`crates, on ${backends}`, () => {
  let server: CrateServer;
  before(async () => {
    server = await startCrateServer(crates);
    const { failed, text } = await server.call('sync_index', {});
    assert.equal(failed, false, text);
  });
  after(() => server?.[Symbol.asyncDispose]());

  const search = async (query: string, more: Record<string, unknown> = {}) => {
    const { failed, text, data } = await server.call('search_index', { query, mode: 'keyword', ...more });
    assert.equal(failed, false, text);
    return data;
  };
  const titles = async (query: string, more: Record<string, unknown> = {}): Promise<string[]> =>
    (await search(query, more)).results.map(({ title }: { title: string }) => title);
  const idOf = async (query: string): Promise<string> => (await search(query)).results[0].crate_id;
  const idAt = async (end: string): Promise<string> => {
    const { results } = await search('', { limit: 100 });
    return results.find(({ resource_locator }: { resource_locator: string }) =>
      resource_locator.endsWith(end),
    ).crate_id;
  };

  it('every form of crate is found, and what cannot be read is listed with its reason', async () => {
    const { data, text } = await server.call('index_status', {});
    assert.equal(data.broken, 2);
    const reasons = Object.fromEntries(
      data.broken_crates.map((broken: { resource_locator: string; code: string }) => [
        broken.resource_locator.split('/').at(-1),
        broken.code,
      ]),
    );
    assert.deepEqual(reasons, { 'broken.zip': 'not_a_zip', 'just_a_zip.zip': 'metadata_invalid' });
    for (const { resource_locator, code, reason } of data.broken_crates)
      assert.ok(text.includes(resource_locator) && text.includes(`${code}: ${reason}`), text);
    const kinds = new Set<string>();
    for (const { crate_id } of (await search('', { limit: 100 })).results)
      kinds.add((await server.call('get_crate', { crate_id })).data.kind);
    assert.deepEqual([...kinds].toSorted(), ['detached', 'folder', 'zip']);
    recordProof(
      `B1:${sourceKind}-source`,
      'B1:zips-and-folders',
      'B2:broken-is-reported-and-stops-no-other',
      'B10:status-of-the-index',
      'B11:not-a-zip',
    );
  });

  it('what has not changed is not read again, what is new is, and what is removed leaves', async () => {
    const report = async () => {
      const { data, text } = await server.call('sync_index', {});
      return data?.sources.find(({ source }: { source: string }) => source === server.source) ?? text;
    };
    const first = await report();
    assert.deepEqual([first.read, first.removed, first.unchanged + first.broken], [0, 0, first.seen]);
    const { data: status } = await server.call('index_status', {});
    assert.ok(first.broken > 0 && first.broken === status.broken);
    await server.put('more/ro-crate-metadata.json', metadata('Moraines'));
    assert.equal((await report()).read, 1);
    const crate_id = await idOf('moraines');
    await server.remove('more/ro-crate-metadata.json');
    assert.equal((await server.call('list_crate_files', { crate_id })).code, 'crate_gone');
    assert.equal((await report()).removed, 1);
    assert.deepEqual(await titles('moraines'), []);
    assert.equal((await server.call('get_crate', { crate_id })).code, 'not_found');
    await server.put('more/ro-crate-metadata.json', metadata('Moraines again'));
    await report();
    assert.equal(await idOf('moraines'), crate_id);
    await server.remove('more/ro-crate-metadata.json');
    await report();
    recordProof('B2:stable-crate-id', 'B2:unchanged-is-not-read-again', 'B2:removed-leaves-the-index');
  });

  it('words, phrases, prefixes and fields find what holds them', async () => {
    assert.deepEqual(await titles('glacier'), ['Glaciers of Jotunheimen']);
    assert.deepEqual(await titles('byron'), ['Glaciers of Jotunheimen']);
    assert.deepEqual(await titles('"water levels"'), ['Rivers of Telemark']);
    assert.deepEqual(await titles('"levels water"'), []);
    assert.deepEqual(await titles('jotun*'), ['Glaciers of Jotunheimen']);
    assert.deepEqual(await titles('title:rivers'), ['Rivers of Telemark']);
    assert.deepEqual(await titles('keyword:ice'), ['Glaciers of Jotunheimen']);
    assert.deepEqual((await titles('ice')).toSorted(), ['Glaciers of Jotunheimen', 'Rivers of Telemark']);
    assert.deepEqual(await titles('Person.name:"Ada Byron"'), ['Glaciers of Jotunheimen']);
    assert.deepEqual(await titles('ice', { field_filters: { year: '2019' } }), ['Rivers of Telemark']);
    const { results } = await search('summer');
    assert.match(results[0].snippet, /\*\*summer\*\*/);
    const { text } = await server.call('search_index', { query: 'summer', mode: 'keyword' });
    assert.deepEqual(text.split('\n'), [
      '1 found:',
      `${results[0].crate_id} "Glaciers of Jotunheimen", 2021, by "Ada Byron"`,
      ' "Lengths of glaciers, measured every **summer** by hand."',
      ' matches in description',
      ` ${results[0].resource_locator}`,
    ]);
    assert.ok(countTokens(text) <= 250, text);
    recordProof('B3:phrase-prefix-and-field');
  });

  it('hostile text is no syntax error, and filters that are none are refused', async () => {
    const hostile = [
      '"',
      '((((',
      'AND OR NOT',
      '*',
      '-',
      '::',
      "'; DROP TABLE crates; --",
      '\0',
      'a'.repeat(10_000),
      '"a" -"b',
      'NEAR(a b)',
      '\ud800',
      '${x}',
      '%00',
      'field:',
      ':x',
      'x:"',
    ];
    for (const query of hostile) await search(query);
    for (const mode of ['semantic', 'hybrid']) for (const query of hostile) await search(query, { mode });
    for (const field_filters of ['x', ['a'], { year: 2019 }, { year: null }, { nonsense: 'x' }]) {
      const { failed, text } = await server.call('search_index', { query: 'ice', field_filters });
      assert.ok(failed, JSON.stringify(field_filters));
      assert.match(text, /field_filters|nonsense/);
    }
    recordProof('B3:hostile-text-is-no-error', 'B3:other-field-filters-refused');
  });

  it('pages follow each other without a gap', async () => {
    const all = (await search('', { limit: 100 })).results.map(
      ({ crate_id }: { crate_id: string }) => crate_id,
    );
    const paged: string[] = [];
    for (let offset: number | null = 0; offset !== null;) {
      const page: Awaited<ReturnType<typeof search>> = await search('', { limit: 2, offset });
      paged.push(...page.results.map(({ crate_id }: { crate_id: string }) => crate_id));
      offset = page.next_offset;
    }
    assert.deepEqual(paged, all);
    recordProof('B3:limit-and-offset');
  });

  it('the search by meaning gives the same each time, and so does hybrid', async () => {
    for (const mode of ['semantic', 'hybrid']) {
      const first = await search('ice on mountains', { mode });
      assert.ok(first.results.length > 0, mode);
      assert.deepEqual(await search('ice on mountains', { mode }), first);
    }
    recordProof('B4:same-ranking-every-time');
  });

  it('a crate is shown in a stable shape, and an unknown one is not_found', async () => {
    const { data, text } = await server.call('get_crate', { crate_id: await idOf('glacier') });
    assert.equal(data.title, 'Glaciers of Jotunheimen');
    assert.deepEqual(data.authors, ['Ada Byron']);
    assert.deepEqual([data.date_published, data.year, data.spec_version], ['2021-03-04', 2021, '1.1']);
    assert.deepEqual(data.keywords, ['ice', 'climate']);
    for (const fact of [
      '"Glaciers of Jotunheimen"',
      'Authors: "Ada Byron"',
      'Published 2021-03-04, licence "CC-BY-4.0", "https://spdx.org/licenses/CC-BY-4.0", RO-Crate 1.1',
      'Keywords: "ice", "climate"',
      '4 entities: Dataset 1, File 1, Organization 1, Person 1; root ./',
      data.resource_locator,
    ])
      assert.ok(text.includes(fact), text);
    const { code } = await server.call('get_crate', { crate_id: `crate_${'0'.repeat(24)}` });
    assert.equal(code, 'not_found');
    recordProof('B5:stable-shape', 'B5:unknown-is-not-found', 'B11:unknown-crate');
  });

  it('files are listed with their sizes, by page and by pattern', async () => {
    const crate_id = await idOf('glacier');
    const { data } = await server.call('list_crate_files', { crate_id });
    assert.equal(data.count, 3);
    assert.deepEqual(
      data.files.map(({ path, size }: { path: string; size: number }) => [path, size]).toSorted(),
      [
        ['data/glaciers.csv', 32],
        ['data/large.txt', 50_000],
        ['ro-crate-metadata.json', crates['glaciers/ro-crate-metadata.json'].length],
      ],
    );
    const some = (await server.call('list_crate_files', { crate_id, glob: '*.csv' })).data;
    assert.deepEqual([some.count, some.files[0].path], [1, 'data/glaciers.csv']);
    const page = (await server.call('list_crate_files', { crate_id, limit: 2 })).data;
    assert.deepEqual([page.count, page.total, page.files.length, page.next], [2, 3, 2, 2]);
    const last = (await server.call('list_crate_files', { crate_id, limit: 2, offset: 2 })).data;
    assert.deepEqual([last.count, last.total, last.next], [1, 3, null]);
    recordProof('B6:paged');
  });

  it('the listing of an archive has for each file its path, size, compressed size and time', async () => {
    const crate_id = await idAt('workflow-0.2.0.zip');
    const { data } = await server.call('list_crate_files', { crate_id });
    assert.equal(data.crate_id, crate_id);
    assert.match(data.resource_locator, /workflow-0\.2\.0\.zip$/);
    assert.deepEqual([data.count, data.total, data.next], [data.files.length, data.files.length, null]);
    for (const file of data.files) {
      assert.deepEqual(Object.keys(file).toSorted(), ['compressed_size', 'last_modified', 'path', 'size']);
      assert.equal(new Date(file.last_modified).toISOString(), file.last_modified);
    }
    const isCompressed = (file: { size: number; compressed_size: number }) =>
      file.compressed_size < file.size;
    assert.ok(data.files.some(isCompressed), JSON.stringify(data.files));
    recordProof('B6:listing-shape');
  });

  it('of many files the text shows the first, the next call, and a link to all of them', async () => {
    const crate_id = await idAt('workflow-0.2.0.zip');
    const { text, data } = await server.call('list_crate_files', { crate_id });
    const lines = text.split('\n');
    assert.equal(lines[0], `${data.total} files, 1 to 50 shown, each after its bytes:`);
    assert.equal(lines.filter((line) => /^\d+ \S/.test(line)).length, 51, text);
    assert.equal(lines.at(-2), `and ${data.total - 50} more: call again with offset 50`);
    assert.ok(lines.at(-1)!.includes(data.whole_list.downloadUrl), text);
    const whole = (await (await fetch(data.whole_list.downloadUrl)).text()).trim().split('\n');
    assert.equal(whole.length, data.total);
    assert.deepEqual(
      whole.slice(0, data.files.length).map((line) => JSON.parse(line)),
      data.files,
    );
    const next = await server.call('list_crate_files', { crate_id, offset: 50, limit: 1 });
    assert.match(next.text, /^\d+ files, 51 to 51 shown[^]*\nand \d+ more: call again with offset 51$/);
    assert.ok(next.text.includes(data.files[50].path), next.text);
    const some = await server.call('list_crate_files', { crate_id, glob: 'README*' });
    assert.equal(some.data.whole_list, undefined);
    recordProof('B6:link-to-the-whole-list-in-the-text');
  });

  it('reading is read-only, and the world is open only where sources are remote', async () => {
    const { tools } = await server.client.listTools();
    const hints = Object.fromEntries(tools.map(({ name, annotations }) => [name, annotations]));
    for (const tool of ['search_index', 'get_crate', 'list_crate_files', 'read_crate_file', 'index_status'])
      assert.equal(hints[tool]?.readOnlyHint, true, tool);
    for (const tool of ['list_crate_files', 'read_crate_file', 'download_crate', 'pack_crate', 'sync_index'])
      assert.equal(hints[tool]?.openWorldHint, isRemote, tool);
    assert.equal(hints['search_index']?.openWorldHint, false);
  });

  it('a small text is in the answer, a large one is a link, and one that is not there is not_found', async () => {
    const crate_id = await idOf('glacier');
    const small = await server.call('read_crate_file', { crate_id, path: 'data/glaciers.csv' });
    assert.equal(small.data.text, crates['glaciers/data/glaciers.csv']);
    assert.equal(small.text, `data/glaciers.csv, text/csv, 32 bytes:\n${small.data.text}`);
    const large = await server.call('read_crate_file', { crate_id, path: 'data/large.txt' });
    assert.equal(large.data.text, undefined);
    assert.match(large.text, /^data\/large\.txt, text\/plain\. Too large to show as text\.\n/);
    assert.equal(await (await fetch(large.data.downloadUrl)).text(), crates['glaciers/data/large.txt']);
    for (const path of ['data/Glaciers.csv', '../rivers/ro-crate-metadata.jsonld', '/etc/passwd', 'data'])
      assert.equal((await server.call('read_crate_file', { crate_id, path })).code, 'not_found', path);
    recordProof('B7:small-text-inline-else-link', 'B7:absent-is-not-found');
  });

  it('a file in an archive is read without the archive, and its link has ranges', async () => {
    const crate_id = await idAt('workflow-0.2.0.zip');
    const { data } = await server.call('list_crate_files', { crate_id, glob: '*.jsonld' });
    const { path, size } = data.files[0];
    const link = await server.call('read_crate_file', { crate_id, path, delivery: 'link' });
    const whole = Buffer.from(await (await fetch(link.data.downloadUrl)).arrayBuffer());
    assert.equal(whole.length, size);
    const part = await fetch(link.data.downloadUrl, { headers: { Range: 'bytes=10-19' } });
    assert.equal(part.status, 206);
    assert.deepEqual(Buffer.from(await part.arrayBuffer()), whole.subarray(10, 20));
  });

  it('a crate is downloaded by link, or as base64 up to the limit', async () => {
    const crate_id = await idAt('workflow-0.2.0.zip');
    const original = crates['zips/workflow-0.2.0.zip'];
    const link = await server.call('download_crate', { crate_id });
    assert.deepEqual(Buffer.from(await (await fetch(link.data.downloadUrl)).arrayBuffer()), original);
    const { data, text } = await server.call('download_crate', { crate_id, delivery: 'base64' });
    assert.deepEqual(Buffer.from(data.content_base64, 'base64'), original);
    assert.equal(data.size, original.length);
    assert.ok(text.endsWith(`, ${original.length} bytes as base64:\n${data.content_base64}`));
    recordProof('B8:link-by-default');
  });

  it('a crate that is a folder comes as a ZIP', async () => {
    const crate_id = await idOf('glacier');
    const { data } = await server.call('download_crate', { crate_id });
    const bytes = Buffer.from(await (await fetch(data.downloadUrl)).arrayBuffer());
    assert.equal(bytes.length, data.size);
    assert.equal(bytes.subarray(0, 4).toString('latin1'), 'PK\u0003\u0004');
    assert.ok(bytes.includes('2021,1150'));
    recordProof('B8:folder-as-zip-by-link');
  });

  it('crates are found by what their entities are, along references', async () => {
    const by = async (input: Record<string, unknown>) =>
      (await server.call('search_by_entity', input)).data.results.map(
        ({ title }: { title: string }) => title,
      );
    const found = ['Glaciers of Jotunheimen'];
    assert.deepEqual(await by({ type_name: 'Person', prop_path: 'name', prop_value: 'Ada Byron' }), found);
    assert.deepEqual(await by({ type_name: 'Person', prop_path: 'name', prop_value: 'ada' }), []);
    const loose = { type_name: 'Person', prop_path: 'name', prop_value: 'DA BYR', exact: false };
    assert.deepEqual(await by(loose), found);
    const far = { prop_path: 'author.affiliation.name', prop_value: 'University of Oslo' };
    assert.deepEqual(await by({ type_name: 'Dataset', ...far }), found);
    assert.deepEqual(await by({ type_name: 'Person', ...far }), []);
    const entry = { entry_field: 'title', entry_value: 'rivers' };
    assert.deepEqual(await by({ type_name: 'Dataset', ...far, ...entry }), []);
    recordProof(
      'B9:by-type-property-and-value',
      'B9:path-walks-references',
      'B9:exact-by-default-and-parts-else',
      'B9:entry-field-and-value',
    );
  });

  it('a client hears the progress of sync_index, and what came of each source', async () => {
    const heard: { progress: number; message?: string | undefined }[] = [];
    const result = await server.client.callTool(
      { name: 'sync_index', arguments: {} },
      { onprogress: (one) => void heard.push(one) },
    );
    assert.notEqual(result.isError, true);
    assert.ok(heard.length > 0, 'no progress was heard');
    assert.ok(
      heard.some(({ message = '' }) => /: \d+ crates, \d+ read, \d+ unchanged/.test(message)),
      JSON.stringify(heard),
    );
    const counts = heard.map(({ progress }) => progress);
    assert.deepEqual(
      counts,
      [...new Set(counts)].toSorted((a, b) => a - b),
    );
    recordProof('B10:progress-heard-by-a-client');
  });

  it('the fields that can be searched are listed, with the values of those that filter', async () => {
    const { data, text } = await server.call('list_searchable_fields', {});
    assert.ok(data.fields.length >= 6);
    const years = data.filters.find(({ name }: { name: string }) => name === 'year').values;
    assert.ok(years.some(({ value }: { value: string }) => value === '2019'));
    assert.ok(data.entities.some(({ type }: { type: string }) => type === 'Person'));
    assert.match(text, /^ year \(.*\): .*"2019" 2/m);
    assert.match(text, /^ Person \d+: .*affiliation/m);
    const one = await server.call('list_searchable_fields', { name: 'person' });
    assert.deepEqual(
      [one.data.fields, one.data.filters, one.data.entities.length, one.data.entities[0].type],
      [[], [], 1, 'Person'],
    );
    assert.equal((await server.call('list_searchable_fields', { name: 'none' })).code, 'not_found');
    recordProof('B10:searchable-fields-listed');
  });
});

describe(`crates whose source fails, on ${backends}`, () => {
  it('what went wrong is told apart', async () => {
    const zip = zipFixture('directory.zip');
    const damaged = Uint8Array.from(zip);
    damaged.fill(0xff, 60, 200);
    await using server = await startCrateServer(
      { 'a.zip': zip, 'cut.zip': zip.subarray(0, zip.length - 100), 'damaged.zip': damaged },
      { crateDownloadLimitMb: 0, ...(isRemote ? { downloads: 'redirect', redirectFrom: 1 } : {}) },
    );
    await server.call('sync_index', {});
    const { data: status } = await server.call('index_status', {});
    assert.ok(status.broken >= 1);
    const { data } = await server.call('search_index', { query: '', mode: 'keyword', limit: 100 });
    const found = data.results.find((one: { resource_locator: string }) =>
      one.resource_locator.endsWith('/a.zip'),
    );
    const { crate_id } = found;
    const large = await server.call('download_crate', { crate_id, delivery: 'base64' });
    assert.equal(large.code, 'too_large');
    assert.match(large.text, /delivery "link"/);
    const link = await server.call('download_crate', { crate_id });
    const way = await fetch(link.data.downloadUrl, { redirect: 'manual' });
    assert.equal(way.status, isRemote ? 302 : 200);
    const bytes = await (await fetch(link.data.downloadUrl)).arrayBuffer();
    assert.deepEqual(Buffer.from(bytes), zip, 'by a presigned URL where the store gives one');
    await server.remove('a.zip');
    assert.equal((await fetch(link.data.downloadUrl)).status, 410);
    assert.equal((await server.call('list_crate_files', { crate_id })).code, 'crate_gone');
    await server.put('a.zip', zipFixture('nested_directory.zip'));
    assert.equal((await server.call('list_crate_files', { crate_id })).code, 'crate_changed');
    assert.equal((await fetch(link.data.downloadUrl)).status, 410);
    recordProof('B11:object-gone');
  });
});

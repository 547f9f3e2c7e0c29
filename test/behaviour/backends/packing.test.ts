import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { noSandbox, run } from '../../code.testing.ts';
import { backends, upload } from '../../server.testing.ts';
import { metadata, startCrateServer, type CrateServer } from './crates.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';

const table = 'year,metres\n2020,1200\n2021,1150\n';
const crates = {
  'glaciers/ro-crate-metadata.json': metadata('Glaciers of Jotunheimen'),
  'glaciers/data/glaciers.csv': table,
};
const code = `
rows = open('glaciers.csv').read().split('\\n')[1:]
lengths = [int(row.split(',')[1]) for row in rows if row]
open('/artifacts/mean.txt', 'w').write(str(sum(lengths) / len(lengths)))
print('mean', sum(lengths) / len(lengths))
`;

describe(`packing crates, on ${backends}`, { skip: noSandbox }, () => {
  let server: CrateServer;
  before(async () => {
    server = await startCrateServer(crates, {
      sandbox: 'bubblewrap',
      warmPython: 1,
      warmNode: 0,
      warmBash: 0,
      tools: ['default', 'validation'],
    });
    await server.call('sync_index', {});
  });
  after(() => server?.[Symbol.asyncDispose]());

  const find = async (query: string) =>
    (await server.call('search_index', { query, mode: 'keyword' })).data.results;

  it('a run on a file of a crate is packed with its provenance, found at once and after a restart, and fetched', async () => {
    const [{ crate_id: from }] = await find('jotunheimen');
    const given = { crate_files: [{ crate_id: from, path: 'data/glaciers.csv' }] };
    const ended = await run(server, 'python', code, given);
    assert.equal(ended.stdout, 'mean 1175.0\n');
    const packed = await server.call('pack_crate', {
      execution_id: ended.execution_id,
      title: 'Mean length of glaciers',
      license: 'CC-BY-4.0',
      authors: [{ name: 'Grace Hopper', orcid: '0000-0002-1825-0097' }],
    });
    assert.equal(packed.failed, false, packed.text);
    const { crate_id } = packed.data;
    assert.equal((await find('author:hopper'))[0].crate_id, crate_id);

    const bytes = Buffer.from(await (await fetch(packed.data.downloadUrl)).arrayBuffer());
    assert.equal(createHash('sha256').update(bytes).digest('hex'), packed.data.sha256);

    const { data: listing } = await server.call('list_crate_files', { crate_id });
    const paths: string[] = listing.files.map(({ path }: { path: string }) => path);
    for (const end of ['ro-crate-metadata.json', 'ro-crate-preview.html', 'mean.txt', 'glaciers.csv'])
      assert.ok(
        paths.some((path) => path.endsWith(end)),
        end,
      );
    const result = paths.find((path) => path.endsWith('mean.txt'))!;
    const { data: read } = await server.call('read_crate_file', { crate_id, path: result });
    assert.equal(read.text, '1175.0');

    await server.restart();
    assert.equal((await find('author:hopper'))[0].crate_id, crate_id);
    const link = await server.call('read_crate_file', { crate_id, path: result, delivery: 'link' });
    const part = await fetch(link.data.downloadUrl, { headers: { Range: 'bytes=1-2' } });
    assert.deepEqual([part.status, await part.text()], [206, '17']);
    recordProof('B12:run-packed-with-provenance', 'B12:found-and-fetched-again');
  });

  it('of two runs that write the same name each is packed with its own result, also after a restart', async () => {
    const write = (text: string) =>
      run(server, 'python', `open('/artifacts/alpha.txt', 'w').write('${text}')`);
    const [first, second] = [await write('alpha = 0.05'), await write('alpha = 0.01')];
    await server.restart();
    for (const [{ execution_id }, text] of [
      [second, 'alpha = 0.01'],
      [first, 'alpha = 0.05'],
    ] as const) {
      const { data: packed } = await server.call('pack_crate', { execution_id });
      const file = { crate_id: packed.crate_id, path: 'results/artifacts/alpha.txt' };
      assert.equal((await server.call('read_crate_file', file)).data.text, text);
      const judged = await server.call('validate_crate', { crate_id: packed.crate_id });
      assert.equal(judged.data.must, 0, judged.text);
    }
  });

  it('a result whose bytes are gone is said to be so by pack_crate and by validate_crate', async () => {
    const made = await run(server, 'python', "open('/artifacts/.hidden', 'w').write('x')");
    const packed = await server.call('pack_crate', { execution_id: made.execution_id });
    assert.match(packed.text, /Described, but not in the crate: "artifacts\/\.hidden" of the run: /);
    const judged = await server.call('validate_crate', { crate_id: packed.data.crate_id });
    assert.match(judged.text, /Valid[^]*Note: Described, but not in the crate: "\/artifacts\/\.hidden"\./);
  });

  it('stored files are packed too, and what cannot be packed is refused with nothing left behind', async () => {
    const id = await upload(server, 'notes.txt', 'some notes');
    const packed = await server.call('pack_crate', { file_ids: [id], title: 'Notes of a day' });
    assert.equal(packed.failed, false, packed.text);
    assert.equal((await find('"notes of a day"')).length, 1);
    const before = (await find('')).length;
    for (const [input, expected] of [
      [{}, 'invalid_input'],
      [{ execution_id: 'exec_000000000000' }, 'not_found'],
      [{ file_ids: ['file_000000000000000000000000'] }, 'not_found'],
    ] as const)
      assert.equal((await server.call('pack_crate', input)).code, expected);
    await server.call('sync_index', {});
    assert.equal((await find('')).length, before);
    recordProof('B12:files-packed');
  });

  it('what a run was given on stdin is packed with it', async () => {
    const ended = await run(server, 'python', 'print(len(input()))', { stdin: 'Jostedalsbreen' });
    const { data: packed } = await server.call('pack_crate', { execution_id: ended.execution_id });
    const file = { crate_id: packed.crate_id, path: 'inputs/stdin.txt' };
    assert.equal((await server.call('read_crate_file', file)).data.text, 'Jostedalsbreen');
  });

  it('runs that belong together are packed as one crate, found by what each made, and what is not one is refused', async () => {
    const there = { working_dir: '/workspace/melt' };
    const first = await run(server, 'python', "open('rates.csv', 'w').write('1\\n2\\n')", there);
    const second = await run(
      server,
      'python',
      "open('/artifacts/melt.txt', 'w').write(open('rates.csv').read())",
      there,
    );
    const execution_ids = [second.execution_id, first.execution_id];
    const packed = await server.call('pack_crate', {
      execution_ids,
      title: 'Melt rates',
      specification: '1.2',
    });
    assert.equal(packed.failed, false, packed.text);
    const { crate_id } = packed.data;
    const { data: listing } = await server.call('list_crate_files', { crate_id });
    const paths: string[] = listing.files.map(({ path }: { path: string }) => path);
    for (const path of ['step-1/results/working/rates.csv', 'step-2/results/artifacts/melt.txt'])
      assert.ok(paths.includes(path), paths.join(' '));
    // An entity with several types and several names is found by each.
    for (const [type_name, prop_path, prop_value] of [
      ['SoftwareSourceCode', 'name', 'main.py'],
      ['CreateAction', 'result.name', 'melt.txt'],
    ] as const) {
      const made = await server.call('search_by_entity', { type_name, prop_path, prop_value });
      assert.ok(JSON.stringify(made.data).includes(crate_id), made.text);
    }
    for (const [input, code] of [
      [{ execution_ids: [first.execution_id, first.execution_id] }, 'invalid_input'],
      [{ execution_ids: [first.execution_id, 'exec_000000000000'] }, 'not_found'],
      [{ execution_ids: [], file_ids: [] }, 'invalid_input'],
    ] as const)
      assert.equal((await server.call('pack_crate', input)).code, code);
  });

  it('a file of a crate that is not there is not given to a run, and nothing runs', async () => {
    const [{ crate_id }] = await find('jotunheimen');
    const reply = await server.call('execute_code', {
      language: 'python',
      code: 'print(1)',
      crate_files: [{ crate_id, path: 'data/none.csv' }],
    });
    assert.equal(reply.code, 'not_found');
  });
});

/** The index counts what has been packed; what fits by itself and not beside it is refused. */
describe(`quota of packed crates, on ${backends}`, () => {
  for (const [what, settings, message] of [
    ['bytes of a user', { quotaUserBytes: 30_000 }, /Your packed crates may use 30000 bytes/],
    ['crates of a user', { quotaUserFiles: 1 }, /in 1 crates/],
    ['bytes of all', { quotaTotalBytes: 30_000 }, /no room left for packed crates/],
  ] as const)
    it(`more than the ${what} is refused, and nothing is written`, async () => {
      await using server = await startCrateServer({}, { sandbox: 'off', ...settings });
      const id = await upload(server, 'notes.txt', 'n'.repeat(10_000));
      const first = await server.call('pack_crate', { file_ids: [id], title: 'First' });
      assert.equal(first.failed, false, first.text);
      const second = await server.call('pack_crate', { file_ids: [id], title: 'Second' });
      assert.equal(second.code, 'quota_exceeded', second.text);
      assert.match(second.text, message);
      assert.match(second.text, /--pack-to/);
      await server.call('sync_index', {});
      const found = await server.call('search_index', { query: '', mode: 'keyword' });
      assert.deepEqual(
        found.data.results.map(({ title }: { title: string }) => title),
        ['First'],
      );
    });
});

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { metadata } from '../backends/crates.testing.ts';
import { noSandbox } from '../../code.testing.ts';
import { fromSource, run, serve, type Ended } from './program.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';

const zips = join(import.meta.dirname, '../../../fixtures/crates/zips');
const unknown = `crate_${'0'.repeat(24)}`;

describe('workcrate index, crates and replay, as processes of their own', () => {
  let home: string;
  let source: string;
  let settings: string[];
  let crate: string;
  before(async () => {
    home = await mkdtemp(join(tmpdir(), 'workcrate-cli-crates-'));
    source = join(home, 'source');
    await mkdir(join(source, 'glaciers'), { recursive: true });
    for (const name of ['PASTA.eln', 'nested_directory.zip', 'just_a_zip.zip'])
      await copyFile(join(zips, name), join(source, name));
    await writeFile(
      join(source, 'glaciers/ro-crate-metadata.json'),
      metadata('Glaciers \u001b[31mof\u202e Jotunheimen', { license: 'MIT' }),
    );
    await writeFile(join(source, 'glaciers/lengths.csv'), 'year,metres\n'.repeat(100_000));
    settings = ['--data', join(home, 'data'), '--crate-sources', pathToFileURL(source).href];
    const { code, stdout, stderr } = await run(['index', ...settings]);
    assert.equal(code, 0, stderr);
    assert.match(
      stdout,
      /^SOURCE +STATE +SEEN +READ +UNCHANGED +BROKEN +REMOVED\n.*\/source\/ +ok +4 +3 +0 +1 +0\n/,
    );
    crate = (await json('search', 'jotunheimen', '--mode', 'keyword')).results[0].crate_id;
  });
  after(() => rm(home, { recursive: true, force: true }));

  const crates = (...words: string[]): Promise<Ended> => run(['crates', ...words, ...settings]);
  const told = async (...words: string[]): Promise<string> => {
    const { code, stdout, stderr } = await crates(...words);
    assert.deepEqual([code, stderr], [0, ''], stderr);
    return stdout;
  };
  // oxlint-disable-next-line typescript/no-explicit-any -- a test names the fields that it expects
  const json = async (...words: string[]): Promise<any> => JSON.parse(await told(...words, '--json'));

  it('search gives a table without what a terminal would act on, and JSON for programs', async () => {
    const table = await told('search', 'jotunheimen', '--mode', 'keyword');
    assert.match(
      table,
      /^CRATE +YEAR +TITLE +AUTHORS\ncrate_[0-9a-f]{24} +2021 +Glaciers +\[31mof +Jotunheimen\n1 found\n$/,
    );
    const page = await json('search', 'glaciers', 'jotunheimen', '--filter', 'license=MIT', '--limit', '1');
    const [found] = page.results;
    assert.deepEqual([page.query, page.total, found.matched_in], ['glaciers jotunheimen', 1, ['title']]);
    assert.ok(table.includes(found.crate_id));
  });

  it('show, files, read and status tell of a crate, and read gives it byte for byte', async () => {
    const [shown, listing, bytes, status] = await Promise.all([
      told('show', crate),
      json('files', crate, '--glob', '*.csv'),
      told('read', crate, 'lengths.csv'),
      told('status'),
    ]);
    assert.match(shown, /^title: +Glaciers .*\ncrate: +crate_/);
    assert.deepEqual([listing.crate_id, listing.count, listing.total, listing.next], [crate, 1, 1, null]);
    assert.deepEqual(Object.keys(listing.files[0]), ['path', 'size', 'compressed_size', 'last_modified']);
    assert.equal(bytes, await readFile(join(source, 'glaciers/lengths.csv'), 'utf8'));
    assert.match(status, /\n3 crates, 1 broken\n.*\nbroken: .*just_a_zip\.zip: .* \(metadata_invalid\)\n$/);
  });

  it('a reader that has enough ends read without a word', () => {
    const command = [...fromSource, 'crates', 'read', crate, 'lengths.csv', ...settings];
    const script = '"$@" | head -c 4; echo "${PIPESTATUS[0]}"';
    const { stdout, stderr } = spawnSync('bash', ['-c', script, 'bash', ...command], {
      encoding: 'utf8',
      timeout: 120_000,
    });
    assert.deepEqual([stdout, stderr], ['year0\n', '']);
  });

  it('validate judges an archive, a folder, a metadata file and a crate_id, and its exit code is the verdict', async () => {
    const folder = join(source, 'glaciers');
    const named = [
      join(source, 'nested_directory.zip'),
      folder,
      join(folder, 'ro-crate-metadata.json'),
      crate,
    ];
    for (const which of named) {
      const { code, stdout, stderr } = await run(['validate', which, ...settings]);
      assert.deepEqual([code, stderr], [1, ''], which);
      assert.match(stdout, /^Not valid as RO-Crate 1\.\d.*\n(?:.*\n)*MUST [a-z-]+ \(RO-Crate\): /, which);
    }
    const good = join(home, 'good');
    await mkdir(good);
    const text = metadata('Good', { description: 'It is.', license: 'MIT' });
    await writeFile(join(good, 'ro-crate-metadata.json'), text);
    const told = await run(['validate', good, '--json']);
    assert.equal(told.code, 0);
    assert.equal(JSON.parse(told.stdout).valid, true);
    assert.equal((await run(['validate', good, '--profile', 'process-run-crate'])).code, 1);
  });

  it('what is not there is one line and exit code 1', async () => {
    const asked: [string[], RegExp][] = [
      [
        ['crates', 'show', unknown],
        /There is no crate "\S+" in the index of \S+\. npx workcrate crates search lists/,
      ],
      [['crates', 'read', crate, '../escape'], /has no file "..\/escape"/],
      [['crates', 'pack', 'exec_000000000000'], /No execution of yours/],
      [
        ['replay', unknown],
        /There is no crate "\S+" in the index of \S+\. npx workcrate crates search lists/,
      ],
      [['replay', join(home, 'none.zip')], /neither a crate_id nor a file/],
      [['validate', home], /neither a crate_id nor a file/],
    ];
    const ended = await Promise.all(asked.map(([words]) => run([...words, ...settings])));
    for (const [at, { code, stdout, stderr }] of ended.entries()) {
      assert.match(stderr, asked[at]![1]);
      assert.match(stderr, /^workcrate: [^\n]+\n$/);
      assert.deepEqual([code, stdout], [1, '']);
    }
  });

  it('index tells of a source that is not there with exit code 1, and reads nothing twice of another', async () => {
    const gone = [pathToFileURL(join(home, 'gone')).href, pathToFileURL(source).href].join(',');
    const { code, stdout } = await run(['index', ...settings.slice(0, 2), '--crate-sources', gone]);
    assert.equal(code, 1);
    assert.match(stdout, /\/gone\/ +unreachable .*\n.*\/source\/ +ok +4 +0 +3 +1 /);
    assert.match(stdout, /\/gone\/: .*There is no such folder\. Check the path, and that it is mounted/);
  });

  it(
    'beside a running server a run is packed, found by the server, and replayed',
    { skip: noSandbox },
    async () => {
      const env = { WORKCRATE_SANDBOX: 'bubblewrap', WORKCRATE_WARM_PYTHON: '0', WORKCRATE_WARM_NODE: '0' };
      await using server = await serve([...settings, '--crate-interval', '0'], { env });
      const command = 'echo 42 > /artifacts/answer.txt; echo done';
      const { data: ended } = await server.call('execute_bash', { command });
      const packed = await json(
        'pack',
        ended.execution_id,
        '--title',
        'An answer',
        '--author',
        'Deep Thought',
      );
      assert.deepEqual(packed.notes, []);
      const { data: found } = await server.call('search_index', { query: 'author:thought', mode: 'keyword' });
      assert.equal(found.results[0].crate_id, packed.crate_id, 'the server finds what the command packed');
      const archive = fileURLToPath(packed.resource_locator);
      const replayed = await run(['replay', archive, ...settings], { env });
      assert.equal(replayed.code, 0, replayed.stderr);
      assert.match(replayed.stdout, /answer\.txt/);

      for (const code of [
        'rates = [1, 2, 4]; open("rates.txt", "w").write(str(rates)); rates',
        'total = sum(rates); open("/artifacts/total.txt", "w").write(str(total))',
        'print(open("rates.txt").read(), total)',
      ]) {
        const cell = await server.call('execute_code', { language: 'python', code, session_id: 'melt' });
        assert.equal(cell.data.exit_code, 0, cell.text);
      }
      const { data: whole, text } = await server.call('pack_crate', {
        session_id: 'melt',
        title: 'A session',
      });
      const again = await run(['replay', fileURLToPath(whole.resource_locator), ...settings], { env });
      assert.equal(again.code, 0, `${text}\n${again.stdout}${again.stderr}`);
      assert.match(again.stdout, /Step 3 of 3[^]*stdout: same[^]*every result of every step is the same/);
      const { data: listing } = await server.call('list_crate_files', { crate_id: whole.crate_id });
      const paths = listing.files.map(({ path }: { path: string }) => path);
      assert.ok(paths.includes('notebook/melt.ipynb'), paths.join(' '));
      const both = { session_id: 'melt', execution_id: ended.execution_id };
      assert.equal((await server.call('pack_crate', both)).code, 'invalid_input');
      assert.equal((await server.call('pack_crate', { session_id: 'nobody' })).failed, true);
      assert.equal(await server.end('SIGTERM'), 0);
      recordProof('B13:session-in-one-crate');
    },
  );
});

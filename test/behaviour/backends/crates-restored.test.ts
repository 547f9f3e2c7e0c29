import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  appendFile,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  utimes,
  writeFile,
  stat,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { startServer, upload, type TestServer } from '../../server.testing.ts';

const settings = { sandbox: 'off', database: null, storage: 'disk' } as const;

interface Given {
  readonly crateId: string;
  /** URLs by which a user was given something of the crate. */
  readonly paths: Record<string, string>;
}

async function newFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'workcrate-restored-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function giveOut(server: TestServer): Promise<Given> {
  const file = await upload(server, 'table.csv', 'year,metres\n2020,1200\n');
  const packed = await server.call('pack_crate', { file_ids: [file], title: 'Glaciers' });
  assert.equal(packed.failed, false, packed.text);
  const crateId: string = packed.data.crate_id;
  const whole = await server.call('download_crate', { crate_id: crateId });
  const inside = { crate_id: crateId, path: 'files/table.csv' };
  const part = await server.call('read_crate_file', { ...inside, delivery: 'link' });
  const urls = {
    packed: packed.data.downloadUrl,
    whole: whole.data.downloadUrl,
    part: part.data.downloadUrl,
  };
  const paths = Object.fromEntries(
    Object.entries(urls).map(([name, url]) => [name, new URL(url as string).pathname]),
  );
  return { crateId, paths };
}

async function fetchAll(server: TestServer, { paths }: Given): Promise<Record<string, string>> {
  const answers: Record<string, string> = {};
  for (const [name, path] of Object.entries(paths)) {
    const answer = await fetch(`${server.url}${path}`);
    const bytes = Buffer.from(await answer.arrayBuffer());
    answers[name] =
      answer.status === 200
        ? `200 ${createHash('sha256').update(bytes).digest('hex')}`
        : String(answer.status);
  }
  return answers;
}

/** As docs/guide/backup.md has it: all but the index and what belongs to the process. */
function restore(from: string, to: string): void {
  const left = 'rm -f crates.db* lock.db* pid url';
  execFileSync('sh', ['-c', `cp -a "$1" "$2" && cd "$2" && ${left}`, 'sh', from, to]);
}

const archiveIn = async (data: string): Promise<string> => {
  const names = await readdir(join(data, 'crates'), { recursive: true });
  return join(
    data,
    'crates',
    names.find((name) => name.endsWith('.zip'))!,
  );
};

for (const where of ['the same path', 'another path'])
  it(`links to crates, and their ids, hold when a backup is restored to ${where}`, async (t) => {
    const folder = await newFolder(t);
    const [data, backup] = [join(folder, 'data'), join(folder, 'backup')];
    let given: Given;
    let before: Record<string, string>;
    {
      await using server = await startServer({ ...settings, data });
      given = await giveOut(server);
      before = await fetchAll(server, given);
      for (const [name, answer] of Object.entries(before)) assert.match(answer, /^200 /, name);
    }
    execFileSync('cp', ['-a', data, backup]);
    await rename(data, `${data}.before`);
    const restored = where === 'the same path' ? data : join(folder, 'elsewhere');
    restore(backup, restored);
    for (let time = 1; time <= 2; time++) {
      await using server = await startServer({ ...settings, data: restored });
      assert.deepEqual(await fetchAll(server, given), before);
      await eventually(async () => !(await server.call('get_crate', { crate_id: given.crateId })).failed);
    }
  });

it('a link gives nothing of a crate that is another one by now, whatever its size and time', async (t) => {
  const folder = await newFolder(t);
  const data = join(folder, 'data');
  await using server = await startServer({ ...settings, data });
  const given = await giveOut(server);
  const archive = await archiveIn(data);
  const { atime, mtime } = await stat(archive);
  const bytes = await readFile(archive);
  const at = bytes.indexOf('2020,1200');
  assert.ok(at > 0, 'the file is in the archive as it is');
  for (const changed of [Buffer.from(bytes), Buffer.concat([bytes, bytes])]) {
    changed[at] = 0x39;
    await rm(archive);
    await writeFile(archive, changed);
    await utimes(archive, atime, mtime);
    assert.deepEqual(await fetchAll(server, given), { packed: '410', whole: '410', part: '410' });
  }
  // The same bytes are the same crate, also as another file.
  await rm(archive);
  await writeFile(archive, bytes);
  for (const answer of Object.values(await fetchAll(server, given))) assert.match(answer, /^200 /);
  await appendFile(archive, 'x');
  assert.deepEqual(await fetchAll(server, given), { packed: '410', whole: '410', part: '410' });
});

import assert from 'node:assert/strict';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { smallDisk } from '../../properties/faults/small-disk.testing.ts';
import { run, temporaryFolder, type Ended } from './program.testing.ts';

const keyOfS3 = { AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'hush' };

/** Settings that no server starts with, and what of the message has to be there. FOLDER has broken.json. */
const refused: [args: string, message: RegExp, env?: Record<string, string>][] = [
  ['--host 0.0.0.0', /does not listen on 0\.0\.0\.0/],
  ['--auth oauth', /--auth oauth needs --oauth-issuer/],
  ['--auth oauth --oauth-issuer https://a.example --host 0.0.0.0', /needs --public-url/],
  ['--downloads redirect', /--downloads redirect needs a storage that signs URLs/],
  ['--downloads accel --storage memory', /--downloads accel needs --storage disk/],
  ['--storage s3 --s3-bucket b', /--storage s3 needs AWS_ACCESS_KEY_ID/],
  ['--storage s3', /--storage s3 needs --s3-bucket/, keyOfS3],
  ['--part-size 1MB --storage s3 --s3-bucket b', /--part-size/, keyOfS3],
  ['--database mysql://a/b', /The database is a URL that begins with postgres/],
  ['--tools files,nosuch', /There is no group of tools nosuch/],
  ['--guard FOLDER/broken.json', /The rules of the guard/],
  ['--guard FOLDER/none.json', /The rules of the guard/],
  ['--gateway FOLDER/broken.json', /broken\.json/],
  ['--tool-routes FOLDER/broken.json', /The file of tool routes/],
  ['--network-secrets FOLDER/broken.json', /The file of network secrets/],
  ['--network-addresses nonsense', /--network-addresses/],
  ['--output-chars 100 --output-head 90 --output-tail 90', /--output-head 90 and --output-tail 90 are more/],
  ['--semantics endpoint', /needs --embeddings-url and --embeddings-model/],
  ['--crate-sources file://FOLDER/own,file://FOLDER/own/inner', /is inside/],
  ['--document-memory 1MB', /--document-memory takes 400MB or more/],
  ['--document-fonts FOLDER/none', /none/],
  ['--zotero-library nonsense', /--zotero-library takes/],
  ['--packages-allow a=b=c', /a=b=c/],
  ['--sandbox subprocess', /has no walls: .* add --allow-sandbox subprocess/],
];

for (const [words, message, env = {}] of refused)
  it(`serve and doctor refuse ${words} in the same words, and nothing is opened`, async () => {
    await using folder = await temporaryFolder();
    await writeFile(join(folder.path, 'broken.json'), '{ "no": ');
    const data = join(folder.path, 'data');
    const args = words.replaceAll('FOLDER', folder.path).split(' ');
    const settings = ['--port', '0', '--data', data, ...args];
    await demandSame(settings, message, env);
    assert.deepEqual(await readdir(folder.path), ['broken.json']);
  });

it('serve and doctor refuse a new data folder on a full disk in the same words', async (t) => {
  await using disk = await smallDisk(t);
  if (disk === null) return;
  await disk.fill();
  await demandSame(['--port', '0', '--data', join(disk.path, 'data')], /the disk is full\. .* --data\.$/, {});
});

/** `serve` ends with that message alone, and `doctor` has it as a row. */
async function demandSame(settings: string[], message: RegExp, env: Record<string, string>): Promise<void> {
  const [served, told] = await Promise.all([
    run(['serve', ...settings], { env }),
    run(['doctor', '--pandoc', '/nonexistent/pandoc', ...settings], { env }),
  ]);
  const [, refusal] = /^workcrate: (.*)\n$/.exec(served.stderr) ?? [];
  assert.ok(refusal !== undefined, served.stderr);
  assert.match(refusal, message);
  assert.deepEqual([served.code === 0, served.stdout], [false, '']);
  demandRow(told, refusal);
}

function demandRow({ code, stdout, stderr }: Ended, refusal: string): void {
  assert.deepEqual([code, stderr], [1, '']);
  const rows = stdout.split('\n').filter((row) => row.startsWith('broken'));
  assert.deepEqual(rows, [`broken ${refusal}`]);
}

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { appendFile, mkdir, readdir, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { it } from 'node:test';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { offsetOf, patch, rawConnection, sha256 } from '../../behaviour/backends/upload.testing.ts';
import { run, serve, temporaryFolder, upload, type Program } from '../../behaviour/cli/program.testing.ts';
import { losableDisk } from './power-loss.testing.ts';

const at = (program: Program, url: string): string => program.url + new URL(url).pathname;

async function openUpload(program: Program, size: number): Promise<string> {
  const { data } = await program.call('request_upload', { filename: 'resumed.bin', size });
  return data.uploadUrl as string;
}

async function partOf(folder: string): Promise<string> {
  const [name] = await readdir(join(folder, 'files/staging'));
  return join(folder, 'files/staging', name!);
}

/** Sends the rest from where the server says that it is, and gives the hash of what it made of it. */
async function goOn(url: string, bytes: Buffer): Promise<{ from: number; sha256: string | null }> {
  const from = await offsetOf(url);
  const { headers } = await patch(url, from, bytes.subarray(from));
  return { from, sha256: headers.get('workcrate-sha256') };
}

it('bytes that a staged file has beyond what was synced, as ext4 gives them back as zeros, are not taken for sent', async () => {
  await using folder = await temporaryFolder();
  const bytes = randomBytes(200_000);
  let program = await serve(['--data', folder.path]);
  const url = await openUpload(program, bytes.length);
  assert.equal((await patch(url, 0, bytes.subarray(0, 100_000))).status, 204);
  assert.equal((await patch(url, 100_000, bytes.subarray(100_000, 167_644))).status, 204);
  await program.end('SIGKILL');
  await appendFile(await partOf(folder.path), Buffer.alloc(292));
  program = await serve(['--data', folder.path]);
  await using _ = program;
  assert.deepEqual(await goOn(at(program, url), bytes), { from: 167_644, sha256: sha256(bytes) });
});

it('a PUT that begins anew and is cut off by a crash leaves nothing that would be gone on with', async () => {
  await using folder = await temporaryFolder();
  const bytes = randomBytes(200_000);
  let program = await serve(['--data', folder.path]);
  const url = await openUpload(program, bytes.length);
  assert.equal((await patch(url, 0, randomBytes(100_000))).status, 204);
  using sender = await rawConnection(url);
  sender.socket.write(`${sender.head('PUT', 'Content-Length: 200000')}\r\n\r\n`);
  sender.socket.write(bytes.subarray(0, 50_000));
  await eventually(async () => (await offsetOf(url)) === 0);
  await program.end('SIGKILL');
  await appendFile(await partOf(folder.path), Buffer.alloc(90_000));
  program = await serve(['--data', folder.path]);
  await using _ = program;
  assert.deepEqual(await goOn(at(program, url), bytes), { from: 0, sha256: sha256(bytes) });
});

it('a server that is killed between putting an upload in its place and its row keeps the acknowledged parts', async () => {
  await using folder = await temporaryFolder();
  const bytes = randomBytes(200_000);
  let program = await serve(['--data', folder.path]);
  const url = await openUpload(program, bytes.length);
  assert.equal((await patch(url, 0, bytes.subarray(0, 150_000))).status, 204);
  await program.end('SIGKILL');
  const part = await partOf(folder.path);
  await appendFile(part, bytes.subarray(150_000));
  const digits = part.slice(-'.part'.length - 24, -'.part'.length);
  const object = join(folder.path, 'files/objects/files', digits.slice(0, 2), `${digits}.bin`);
  await mkdir(dirname(object), { recursive: true });
  await rename(part, object);
  program = await serve(['--data', folder.path]);
  await using _ = program;
  assert.deepEqual(await goOn(at(program, url), bytes), { from: 150_000, sha256: sha256(bytes) });
  assert.equal(await program.end('SIGTERM'), 0);
  const { stdout } = await run(['check', '--read-data', '--data', folder.path]);
  assert.match(stdout, /checked 1 files, 200000 bytes: all is well/);
});

it('uploads that are gone on with after a power loss become the files that were sent', async (t) => {
  await using disk = await losableDisk(t);
  if (disk === null) return;
  const data = join(disk.path, 'data');
  for (let round = 0; round < 3; round++) {
    const uploads = Array.from({ length: 6 }, () => ({
      url: '',
      bytes: randomBytes(2_500_000),
      acknowledged: 0,
    }));
    {
      await using program = await serve(['--data', data], { program: disk.program });
      await using senders = new AsyncDisposableStack();
      for (const one of uploads) {
        one.url = await openUpload(program, one.bytes.length);
        one.acknowledged = 1 + Math.floor(Math.random() * 400_000);
        assert.equal((await patch(one.url, 0, one.bytes.subarray(0, one.acknowledged))).status, 204);
        // More than the server gathers before it writes, so that some of it is written and not synced.
        const sender = senders.use(await rawConnection(one.url));
        const headers = [
          'Tus-Resumable: 1.0.0',
          'Content-Type: application/offset+octet-stream',
          `Upload-Offset: ${one.acknowledged}`,
          'Content-Length: 2000000',
        ];
        sender.socket.write(`${sender.head('PATCH', ...headers)}\r\n\r\n`);
        sender.socket.write(one.bytes.subarray(one.acknowledged, one.acknowledged + 1_500_000));
      }
      // Its sync commits the journal with the sizes of the others.
      await upload(program, 'other.bin', randomBytes(1000));
      disk.cutPower();
    }
    disk.mountAgain();
    await using program = await serve(['--data', data], { program: disk.program });
    for (const { url, bytes, acknowledged } of uploads)
      assert.deepEqual(await goOn(at(program, url), bytes), { from: acknowledged, sha256: sha256(bytes) });
    await program.end('SIGTERM');
  }
});

it('links that were made outlive a loss of power, by however many at once', async (t) => {
  await using disk = await losableDisk(t);
  if (disk === null) return;
  const data = join(disk.path, 'data');
  // The sync of an audit line would take the database along.
  const args = ['--data', data, '--audit-level', 'off'];
  const made: string[] = [];
  for (let round = 0; round < 3; round++) {
    {
      await using program = await serve(args, { program: disk.program });
      const { file_id } = await upload(program, 'shared.txt', Buffer.from('shared'));
      // One after the other in each of eight, so that syncs are shared and some begin while another is under way.
      const share = async (): Promise<void> => {
        for (let count = 0; count < 4; count++)
          made.push((await program.call('share_file', { file_id })).data.downloadUrl as string);
      };
      await Promise.all(Array.from({ length: 8 }, share));
      disk.cutPower();
    }
    disk.mountAgain();
    await using program = await serve(args, { program: disk.program });
    for (const url of made) assert.equal(await (await fetch(at(program, url))).text(), 'shared');
    await program.end('SIGTERM');
  }
  assert.equal(made.length, 96);
});

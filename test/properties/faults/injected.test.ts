import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { run, serve, temporaryFolder, upload } from '../../behaviour/cli/program.testing.ts';
import { send, sha256 } from '../../behaviour/backends/upload.testing.ts';

/** The threads on which Node touches files. SQLite works on the main one, and is let be. */
async function fileThreads(pid: number): Promise<string[]> {
  const threads = await readdir(`/proc/${pid}/task`);
  const names = await Promise.all(threads.map((id) => readFile(`/proc/${pid}/task/${id}/comm`, 'utf8')));
  return threads.filter((_, n) => names[n]!.trim() === 'libuv-worker');
}

/** Lets a system call fail in the server until disposed. */
async function failing(pid: number, call: string, error: string): Promise<AsyncDisposable> {
  const threads = (await fileThreads(pid)).flatMap((id) => ['-p', id]);
  const inject = ['-o', '/dev/null', '-e', `trace=${call}`, '-e', `inject=${call}:error=${error}`];
  const strace = spawn('strace', [...inject, ...threads], { stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = once(strace, 'exit');
  let said = '';
  strace.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  while (said.split('attached').length <= threads.length / 2 && strace.exitCode === null) await pause(10);
  assert.equal(strace.exitCode, null, said);
  return {
    async [Symbol.asyncDispose]() {
      strace.kill('SIGINT');
      await ended;
    },
  };
}

function whyNot(): string | null {
  const { status, error, stderr } = spawnSync('strace', ['-qq', '-o', '/dev/null', 'true'], {
    encoding: 'utf8',
  });
  return status === 0 ? null : (error?.message ?? stderr).trim();
}

const faults = [
  { call: 'pwrite64', error: 'EIO', status: 500, code: 'storage_failed' },
  { call: 'pwrite64', error: 'ENOSPC', status: 507, code: 'storage_full' },
  { call: 'pwrite64', error: 'EDQUOT', status: 507, code: 'storage_full' },
  { call: 'fsync', error: 'EIO', status: 500, code: 'storage_failed' },
  { call: '/^link', error: 'ENOSPC', status: 507, code: 'storage_full' },
  { call: '/^link', error: 'EIO', status: 500, code: 'storage_failed' },
  { call: 'openat', error: 'ENFILE', status: 503, code: 'out_of_descriptors' },
];

it('whatever system call fails, an upload is refused by its cause, leaves nothing, and can be tried again', async (t) => {
  const reason = whyNot();
  if (reason !== null) return t.skip(`faults are injected with strace, which cannot be used here: ${reason}`);
  await using folder = await temporaryFolder();
  await using server = await serve(['--data', folder.path]);
  await upload(server, 'first.bin', 'first');
  for (const { call, error, status, code } of faults) {
    const bytes = randomBytes(2_500_000);
    const { data } = await server.call('request_upload', { filename: `${call}-${error}` });
    {
      await using _ = await failing(server.pid, call, error);
      const refused = await send('PUT', data.uploadUrl, bytes);
      assert.deepEqual([refused.status, refused.json.code], [status, code], `${call} ${error}`);
    }
    assert.deepEqual(await readdir(join(folder.path, 'files/staging')), [], `${call} ${error}`);
    const taken = await send('PUT', data.uploadUrl, bytes);
    assert.deepEqual([taken.status, taken.json.sha256], [201, sha256(bytes)], `${call} ${error}`);
  }
  assert.equal(await server.end('SIGTERM'), 0);
  const checked = await run(['check', '--read-data', '--data', folder.path]);
  assert.match(checked.stdout, /checked 8 files, 17500005 bytes: all is well/);
});

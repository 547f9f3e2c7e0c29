import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { fromSource, run, serve, temporaryFolder, upload } from '../../behaviour/cli/program.testing.ts';

const limit = 64;
const fewDescriptors = ['prlimit', `--nofile=${limit}`, ...fromSource];

/** Requests on one connection that is kept, since a new one might not be let in. */
function keptConnection() {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return {
    async ask(method: string, url: string, body = ''): Promise<{ status: number; text: string }> {
      const sending = request(url, { method, agent });
      sending.end(body);
      const [answer] = await once(sending, 'response');
      return { status: answer.statusCode, text: (await answer.toArray()).join('') };
    },
    [Symbol.dispose]: () => agent.destroy(),
  };
}

/**
 * Connects until the server has no descriptor left for a while, and gives the connections. What it opened for a
 * moment only, as it does soon after its start, is used up too once it is free.
 */
async function useUpDescriptors(url: string, pid: number): Promise<Socket[]> {
  const sockets: Socket[] = [];
  const another = (): void =>
    void sockets.push(connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {}));
  let full = 0;
  await eventually(async () => {
    const isFull = (await readdir(`/proc/${pid}/fd`)).length >= limit;
    full = isFull ? full + 1 : 0;
    if (!isFull) another();
    return full === 100;
  }, 10);
  // More than there is room for: these are turned away, and must do no harm.
  for (let extra = 0; extra < 30; extra++) another();
  await pause(200);
  return sockets;
}

it('a server without a descriptor left says so with 503, and works again when there are some', async (t) => {
  if (process.platform !== 'linux' || spawnSync('prlimit', ['--version']).status !== 0)
    return t.skip('the limit on descriptors is set with prlimit, of Linux');
  await using folder = await temporaryFolder();
  await using server = await serve(['--data', folder.path], { program: fewDescriptors });
  using kept = keptConnection();
  const { data } = await server.call('request_upload', { filename: 'late.txt' });
  const { file_id } = await upload(server, 'early.txt', 'early');
  const { data: link } = await server.call('share_file', { file_id });
  assert.equal((await kept.ask('GET', `${server.url}/livez`)).status, 200);

  const sockets = await useUpDescriptors(server.url, server.pid);
  for (let round = 0; round < 3; round++)
    for (const [method, url] of [
      ['PUT', data.uploadUrl],
      ['GET', link.downloadUrl],
      ['GET', `${server.url}/readyz`],
    ]) {
      const { status, text } = await kept.ask(method, url, method === 'PUT' ? 'late' : '');
      assert.equal(status, 503, `${method} ${text}`);
      assert.match(text, /no file descriptors left/);
      if (!url.endsWith('readyz')) assert.equal(JSON.parse(text).code, 'out_of_descriptors');
    }
  assert.equal((await kept.ask('GET', `${server.url}/livez`)).status, 200);

  for (const socket of sockets) socket.destroy();
  await eventually(async () => (await kept.ask('GET', `${server.url}/readyz`)).status === 200);
  assert.equal((await kept.ask('PUT', data.uploadUrl, 'late')).status, 201);
  assert.equal(await (await fetch(link.downloadUrl)).text(), 'early');
  await upload(server, 'new.txt', 'new');
  assert.equal(await server.end('SIGTERM'), 0);
  const checked = await run(['check', '--read-data', '--data', folder.path]);
  assert.match(checked.stdout, /checked 3 files, 12 bytes: all is well/);
});

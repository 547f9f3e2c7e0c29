import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually, patienceMs } from '../../../src/platform/eventually.testing.ts';
import { run, temporaryFolder, type Program } from '../../behaviour/cli/program.testing.ts';
import { startTeam, type Team } from './team.testing.ts';

const made = await startTeam();
const skip = typeof made === 'string' && made;

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** As a balancer does: of the servers that are ready, one after the other. */
function balance(servers: readonly Program[]) {
  let turn = 0;
  return async <T>(work: (program: Program) => Promise<T>): Promise<T> => {
    for (const end = performance.now() + patienceMs; performance.now() < end;) {
      const program = servers[turn++ % servers.length]!;
      if (await isReady(program)) return work(program);
      await pause(10);
    }
    throw new Error('no server is ready');
  };
}

async function isReady({ url }: Program): Promise<boolean> {
  return fetch(`${url}/readyz`).then(
    ({ ok }) => ok,
    () => false,
  );
}

it(
  'a rolling restart of two servers under load loses nothing, and breaks no transfer that was under way',
  { skip },
  async () => {
    await using team = made as Team;
    // Who has just been told that a server is ready gets to send it a request, on a busy machine too.
    const args = ['--stop-delay', '3'];
    const servers = [await team.start(args), await team.start(args)];
    const ask = balance(servers);
    const kept = new Map<string, string>();
    const stop = new AbortController();

    const send = async (): Promise<void> => {
      const bytes = randomBytes(1 + Math.floor(Math.random() * 300_000));
      const { data } = await ask((program) => program.call('request_upload', { filename: 'x.bin' }));
      const path = new URL(data.uploadUrl as string).pathname;
      const answer = await ask(({ url }) => fetch(url + path, { method: 'PUT', body: bytes }));
      assert.equal(answer.status, 201, await answer.clone().text());
      kept.set(((await answer.json()) as { file_id: string }).file_id, sha256(bytes));
    };
    const fetchOne = async (): Promise<void> => {
      const [file_id, hash] = [...kept][Math.floor(Math.random() * kept.size)] ?? [];
      if (file_id === undefined) return;
      const { data, text } = await ask((program) => program.call('share_file', { file_id }));
      assert.ok(data, text);
      const path = new URL(data.downloadUrl as string).pathname;
      const answer = await ask(({ url }) => fetch(url + path));
      assert.deepEqual([answer.status, sha256(await answer.bytes())], [200, hash]);
    };
    const client = async (): Promise<void> => {
      while (!stop.signal.aborted) {
        await send();
        await fetchOne();
      }
    };
    const clients = Promise.all(Array.from({ length: 4 }, client));
    const moreKept = async (): Promise<void> => {
      const enough = kept.size + 10;
      await eventually(() => kept.size >= enough);
    };
    for (const at of [0, 1]) {
      await moreKept();
      await servers[at]!.end('SIGTERM');
      servers[at] = await team.start(args);
    }
    await moreKept();
    stop.abort();
    await clients;
    for (const server of servers) await server.end('SIGTERM');
    await using folder = await temporaryFolder();
    const { stdout } = await run(['check', '--read-data', '--data', folder.path], { env: team.env });
    assert.match(stdout, new RegExp(`checked ${kept.size} files, \\d+ bytes: all is well`));
  },
);

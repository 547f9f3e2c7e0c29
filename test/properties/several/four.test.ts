import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { after, describe, it } from 'node:test';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { run, temporaryFolder, upload, type Program } from '../../behaviour/cli/program.testing.ts';
import { startTeam, type Team } from './team.testing.ts';

const made = await startTeam();
const skip = typeof made === 'string' && made;
const team = made as Team;
after(() => (skip === false ? team[Symbol.asyncDispose]() : undefined));

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const at = (program: Program, url: string): string => program.url + new URL(url).pathname;

/** Four that start at the same moment, the first time on an empty database. */
const startFour = (args: readonly string[] = []): Promise<Program[]> =>
  Promise.all(Array.from({ length: 4 }, () => team.start(args)));

const endAll = async (programs: readonly Program[]): Promise<void> =>
  void (await Promise.all(programs.map((program) => program.end('SIGTERM'))));

const countFiles = async (program: Program): Promise<number> =>
  ((await program.call('list_files', { limit: 100 })).data as { files: unknown[] }).files.length;

/** What `workcrate check --read-data` says, from a process that serves nothing. */
async function check(): Promise<string> {
  await using folder = await temporaryFolder();
  return (await run(['check', '--read-data', '--data', folder.path], { env: team.env })).stdout;
}

describe('four servers on one PostgreSQL and one object store', { skip }, () => {
  it('start at once on an empty database, and each sees what the others keep', async () => {
    const four = await startFour();
    const bytes = randomBytes(100_000);
    const { file_id } = await upload(four[0]!, 'a.bin', bytes);
    const { data } = await four[1]!.call('share_file', { file_id });
    const got = await (await fetch(at(four[2]!, data.downloadUrl))).bytes();
    assert.equal(sha256(got), sha256(bytes));
    assert.equal((await four[3]!.call('delete_file', { file_id })).failed, false);
    assert.equal((await fetch(at(four[2]!, data.downloadUrl))).status, 410);
    await endAll(four);
  });

  it('a single-use link is used once, whoever is asked', async () => {
    const four = await startFour();
    const bytes = randomBytes(50_000);
    const { file_id } = await upload(four[0]!, 'once.bin', bytes);
    for (let round = 0; round < 10; round++) {
      const { data } = await four[round % 4]!.call('share_file', { file_id, single_use: true });
      const ask = async (program: Program): Promise<boolean> => {
        const answer = await fetch(at(program, data.downloadUrl));
        const body = await answer.bytes();
        return answer.status === 200 && sha256(body) === sha256(bytes);
      };
      const whole = await Promise.all([...four, ...four].map(ask));
      assert.equal(whole.filter(Boolean).length, 1, `round ${round}`);
    }
    await endAll(four);
  });

  it('a quota is exact, whichever of them are sent to at once', async () => {
    const size = 10_000;
    const first = await team.start();
    const { files } = (await first.call('list_files', {})).data as { files: { file_id: string }[] };
    for (const { file_id } of files) await first.call('delete_file', { file_id });
    await first.end('SIGTERM');
    const four = await startFour(['--quota-user-bytes', String(10 * size)]);
    const urls: string[] = [];
    for (let n = 0; n < 32; n++) {
      const { data } = await four[n % 4]!.call('request_upload', { filename: `${n}.bin` });
      urls.push(at(four[n % 4]!, data.uploadUrl));
    }
    const send = async (url: string): Promise<number> =>
      (await fetch(url, { method: 'PUT', body: randomBytes(size) })).status;
    const statuses = await Promise.all(urls.map(send));
    assert.deepEqual(
      [
        statuses.filter((status) => status === 201).length,
        statuses.filter((status) => status === 507).length,
      ],
      [10, 22],
    );
    await endAll(four);
    assert.match(await check(), /all is well/);
  });

  it('what has expired is swept once, and nothing of it stays', async () => {
    const four = await startFour(['--sweep-interval', '1', '--file-ttl', '2']);
    const before = await countFiles(four[0]!);
    for (let n = 0; n < 24; n++) await upload(four[n % 4]!, `${n}.bin`, randomBytes(1000));
    const swept = (): number =>
      four
        .flatMap(({ output }) => [...output.stderr.matchAll(/"event":"sweep.done".*?"files":(\d+)/g)])
        .reduce((sum, [, files]) => sum + Number(files), 0);
    await eventually(() => swept() >= 24);
    assert.equal(await countFiles(four[0]!), before);
    await endAll(four);
    assert.equal(swept(), 24);
    assert.ok(!four.some(({ output }) => output.stderr.includes('"level":"error"')));
    assert.match(await check(), /all is well/);
  });

  it('an upload that one began goes on at another after the first is told to stop', async () => {
    const [one, other] = [await team.start(), await team.start()];
    const bytes = randomBytes(7_000_000);
    const { data } = await one!.call('request_upload', { filename: 'half.bin', size: bytes.length });
    const patch = (program: Program, offset: number, to: number): Promise<Response> =>
      fetch(at(program, data.uploadUrl), {
        method: 'PATCH',
        headers: {
          'Tus-Resumable': '1.0.0',
          'Upload-Offset': String(offset),
          'Content-Type': 'application/offset+octet-stream',
        },
        body: bytes.subarray(offset, to),
      });
    assert.equal((await patch(one!, 0, 6_000_000)).status, 204);
    await one!.end('SIGTERM');
    const done = await patch(other!, 6_000_000, bytes.length);
    assert.equal(done.status, 204);
    assert.equal(done.headers.get('workcrate-sha256'), sha256(bytes));
    await endAll([other!]);
  });
});

import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { it } from 'node:test';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { run, serve, temporaryFolder, upload, type Program } from '../../behaviour/cli/program.testing.ts';
import { listAll } from './ledger.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';

const signals = ['SIGTERM', 'SIGKILL'] as const;

/** A server that can be stopped and started again on the same data. */
async function restartable(signal: NodeJS.Signals) {
  const folder = await temporaryFolder();
  const settings = ['--data', folder.path];
  let program = await serve(settings);
  return {
    data: folder.path,
    program: (): Program => program,
    /** The same URL at the server that runs now, which has another port. */
    at: (url: string): string => program.url + new URL(url).pathname,
    async restart(): Promise<void> {
      await program.end(signal);
      program = await serve(settings);
    },
    async [Symbol.asyncDispose](): Promise<void> {
      await program[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

for (const signal of signals) {
  it(`files and links survive a restart by ${signal}`, async () => {
    await using server = await restartable(signal);
    const bytes = randomBytes(200_000);
    const { file_id, sha256 } = await upload(server.program(), 'a.bin', bytes);
    const { data: link } = await server.program().call('share_file', { file_id });
    const { data: once } = await server.program().call('share_file', { file_id, single_use: true });
    const { data: bundle } = await server.program().call('bundle_files', { file_ids: [file_id] });
    const { data: revoked } = await server.program().call('share_file', { file_id });
    await server.program().call('revoke_link', { token: revoked.token });
    await server.restart();
    assert.deepEqual(
      [...(await listAll(server.program())).values()].map((file) => file.sha256),
      [sha256],
    );
    for (const url of [link.downloadUrl, once.downloadUrl])
      assert.deepEqual(await (await fetch(server.at(url))).bytes(), new Uint8Array(bytes));
    const zip = await (await fetch(server.at(bundle.downloadUrl))).bytes();
    assert.equal(createHash('sha256').update(zip).digest('hex'), bundle.sha256);
    assert.equal((await fetch(server.at(revoked.downloadUrl))).status, 404);
    await untilUsed(server.program(), once.token);
    await server.restart();
    assert.equal((await fetch(server.at(link.downloadUrl))).status, 200);
    assert.equal((await fetch(server.at(once.downloadUrl))).status, 404);
    recordProof('C5:links-and-files-survive-a-restart');
  });

  it(`an upload that has not begun, or has come halfway, goes on after a restart by ${signal}`, async () => {
    await using server = await restartable(signal);
    const bytes = randomBytes(100_000);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const request = { filename: 'a.bin', size: bytes.length, sha256 };
    const { data: untouched } = await server.program().call('request_upload', request);
    const { data: halfway } = await server.program().call('request_upload', request);
    await patch(server.at(halfway.uploadUrl), 0, bytes.subarray(0, 60_000));
    await server.restart();
    const head = await fetch(server.at(halfway.uploadUrl), {
      method: 'HEAD',
      headers: { 'Tus-Resumable': '1.0.0' },
    });
    assert.equal(head.headers.get('upload-offset'), '60000');
    const rest = await patch(server.at(halfway.uploadUrl), 60_000, bytes.subarray(60_000));
    assert.equal(rest.headers.get('workcrate-sha256'), sha256);
    const whole = await fetch(server.at(untouched.uploadUrl), { method: 'PUT', body: bytes });
    assert.equal(whole.status, 201);
    assert.equal(await server.program().end('SIGTERM'), 0);
    const { stdout } = await run(['check', '--read-data', '--data', server.data]);
    assert.equal(stdout, 'checked 2 files, 200000 bytes: all is well\n');
  });
}

/** The server notes the end of a download after its client has seen it. */
async function untilUsed(program: Program, token: string): Promise<void> {
  await eventually(async () => (await program.call('link_status', { token })).data.state === 'used');
}

async function patch(url: string, offset: number, body: Uint8Array<ArrayBuffer>): Promise<Response> {
  const headers = {
    'Tus-Resumable': '1.0.0',
    'Upload-Offset': String(offset),
    'Content-Type': 'application/offset+octet-stream',
  };
  const answer = await fetch(url, { method: 'PATCH', headers, body });
  assert.equal(answer.status, 204, await answer.text());
  return answer;
}

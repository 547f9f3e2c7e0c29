import assert from 'node:assert/strict';
import { it } from 'node:test';
import { hashLinkToken, createToken, toPublicId } from '../../../src/core/links/link.ts';
import { share, startServer, timeOf } from '../../server.testing.ts';
import { audited, auditOf } from './lines.testing.ts';

const codeOf = async (answer: Response): Promise<string> => ((await answer.json()) as { code: string }).code;

it('a token that opens nothing is a violation, told by its public id and never by itself', async () => {
  await using server = await startServer();
  const { downloadUrl, token } = await share(server, 'x');
  await server.call('revoke_link', { token });
  const used = await share(server, 'x', { single_use: true });
  await (await fetch(used.downloadUrl)).text();
  const [unknown, unknownUpload, unknownPage] = [createToken(), createToken(), createToken()];
  const asked: [string, RequestInit, string][] = [
    [downloadUrl, {}, 'link_not_found'],
    [used.downloadUrl, {}, 'link_not_found'],
    [`${server.url}/files/${unknown}`, {}, 'link_not_found'],
    [`${server.url}/files/short`, {}, 'link_not_found'],
    [`${server.url}/uploads/${unknownUpload}`, { method: 'PUT', body: 'x' }, 'upload_not_found'],
    [`${server.url}/uploads/${unknownUpload}`, {}, 'upload_not_found'],
    [`${server.url}/ask/${unknownPage}`, {}, 'upload_not_found'],
  ];
  for (const [url, init, code] of asked) assert.equal(await codeOf(await fetch(url, init)), code);
  const lines = await audited(server.data, ({ level }) => level === 'warning', asked.length);
  const id = (of: string): string => toPublicId(hashLinkToken(of));
  assert.deepEqual(
    lines.map(({ operation, user, subject, details }) => [
      operation,
      user,
      subject,
      details?.['kind'],
      details?.['owner'],
      details?.['repeats'],
    ]),
    [
      ['download', '-', id(token), 'revoked_link', 'local', 0],
      ['download', '-', id(used.token), 'used_link', 'local', 0],
      ['download', '-', id(unknown), 'unknown_token', undefined, 0],
      ['download', '-', null, 'unknown_token', undefined, 1],
      ['upload', '-', id(unknownUpload), 'unknown_token', undefined, 0],
      ['upload', '-', id(unknownUpload), 'unknown_token', undefined, 1],
      ['upload_page', '-', id(unknownPage), 'unknown_token', undefined, 0],
    ],
  );
  const all = JSON.stringify([auditOf(server.data), server.logged]);
  for (const secret of [token, used.token, unknown, unknownUpload, unknownPage])
    assert.ok(!all.includes(secret));
});

it('a link that is opened too late is noted, and is no violation', async (t) => {
  const pass = timeOf(t);
  await using server = await startServer();
  const { downloadUrl, token } = await share(server, 'x', { ttl_seconds: 60 });
  pass(61);
  assert.equal(await codeOf(await fetch(downloadUrl)), 'link_not_found');
  const [line] = await audited(server.data, ({ result }) => result === 'link_not_found', 1);
  assert.deepEqual(
    [line!.level, line!.subject, line!.details],
    ['info', toPublicId(hashLinkToken(token)), { owner: 'local', kind: 'expired_link' }],
  );
});

it('a token or key that is given where none belongs is in no line and not in the log', async () => {
  await using server = await startServer();
  const { token, downloadUrl } = await share(server, 'x');
  const key = `wck_${createToken()}`;
  const calls: [string, Record<string, unknown>][] = [key, token, downloadUrl, `../${key}`].flatMap(
    (given) => [
      ['read_client_file', { path: given }],
      ['list_client_directory', { path: given }],
      ['guide_cache_file', { path: given, content: 'x' }],
      ['get_artifact', { name: given }],
      ['share_file', { file_id: encodeURIComponent(given) }],
    ],
  );
  for (const [tool, input] of calls) await server.call(tool, input);
  for (const path of [`ada/artifacts/${token}`, `executions/${key}`, `${token}/artifacts/..%2fx`])
    await (await fetch(`${server.url}/${path}`)).text();
  await audited(server.data, () => true, calls.length + 3);
  const all = JSON.stringify([auditOf(server.data), server.logged]);
  for (const secret of [token, key]) assert.ok(!all.includes(secret.slice(9)));
});

it('uploads are told however they came, and those that failed as well', async () => {
  await using server = await startServer();
  const request = async (filename: string, more = {}): Promise<string> =>
    (await server.call('request_upload', { filename, ...more })).data.uploadUrl;
  await fetch(await request('put'), { method: 'PUT', body: '123' });
  const tus = { 'Tus-Resumable': '1.0.0' };
  await fetch(await request('empty'), { method: 'POST', headers: { ...tus, 'Upload-Length': '0' } });
  await fetch(await request('wrong', { sha256: '0'.repeat(64) }), { method: 'PUT', body: 'x' });
  await fetch(await request('withdrawn'), { method: 'DELETE', headers: tus });
  const lines = await audited(server.data, ({ operation }) => operation === 'upload', 4);
  assert.deepEqual(
    lines.map(({ level, user, subject, result, details }) => [
      level,
      user,
      subject,
      result,
      details?.['bytes'],
    ]),
    [
      ['trace', 'local', 'put', 'ok', 3],
      ['trace', 'local', 'empty', 'ok', 0],
      ['info', 'local', 'wrong', 'hash_mismatch', undefined],
      ['trace', 'local', 'withdrawn', 'withdrawn', undefined],
    ],
  );
});

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { z } from 'zod';
import { errorStatus } from '../../../src/platform/http/answer.ts';
import { serve, temporaryFolder } from '../cli/program.testing.ts';
import { noSandbox, run } from '../../code.testing.ts';
import { share, startServer, type TestServer } from '../../server.testing.ts';
import { demandForeseen, operationsOf, resolved, type OpenApi } from './document.testing.ts';

async function documentOf(server: TestServer): Promise<OpenApi> {
  return (await (await fetch(`${server.url}/openapi.json`)).json()) as OpenApi;
}

it('the document is one of OpenAPI 3.1: parts, parameters, references and schemas', async () => {
  await using server = await startServer();
  const document = await documentOf(server);
  assert.match(document.openapi, /^3\.1\.\d$/);
  assert.deepEqual(document.servers, [{ url: server.url }]);
  const operations = operationsOf(document);
  const ids = operations.map(({ operation }) => operation.operationId);
  assert.equal(new Set(ids).size, ids.length, 'operationId must be unique');
  for (const { path, operation } of operations) {
    const parameters = [...(document.paths[path]!.parameters ?? []), ...(operation.parameters ?? [])];
    const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    const inPath = parameters.filter((parameter) => parameter.in === 'path');
    assert.deepEqual(
      inPath.map(({ name }) => name),
      named,
      path,
    );
    assert.ok(
      inPath.every(({ required }) => required === true),
      path,
    );
    for (const scheme of operation.security?.flatMap((one) => Object.keys(one)) ?? [])
      assert.ok(scheme in document.components.securitySchemes, scheme);
    assert.ok(Object.keys(operation.responses).length > 0);
    for (const [status, answer] of Object.entries(operation.responses)) {
      assert.match(status, /^(?:[1-5]\d\d|4XX)$/);
      assert.equal(typeof answer.description, 'string');
    }
  }
  for (const schema of Object.values(document.components.schemas))
    z.fromJSONSchema(resolved(document, schema) as Parameters<typeof z.fromJSONSchema>[0]);
  resolved(document, document.paths);
});

it('every error code is in the document, and each under the status of the table', async () => {
  await using server = await startServer();
  const document = await documentOf(server);
  const { properties } = document.components.schemas['Error'] as { properties: { code: { enum: string[] } } };
  for (const code of Object.keys(errorStatus)) assert.ok(properties.code.enum.includes(code), code);
  for (const { path, operation } of operationsOf(document))
    for (const [status, { description }] of Object.entries(operation.responses))
      for (const code of description.split(', ').filter((word) => word in errorStatus))
        assert.equal(String(errorStatus[code as keyof typeof errorStatus]), status, `${path} ${code}`);
});

it('every route that there is stands in the document', async () => {
  await using server = await startServer();
  const { paths } = await documentOf(server);
  const routes = [
    '/files/{token}',
    '/uploads/{token}',
    '/executions',
    '/executions/{id}',
    '/{user_id}/artifacts',
  ];
  const others = [
    '/{user_id}/artifacts/{artifact_id}',
    '/livez',
    '/readyz',
    '/metrics',
    '/status',
    '/openapi.json',
  ];
  for (const path of [...routes, ...others, '/mcp', '/.well-known/oauth-protected-resource'])
    assert.ok(path in paths, path);
});

it('real answers to downloads, good and bad, are as the document says', async () => {
  await using server = await startServer();
  const document = await documentOf(server);
  const { downloadUrl, sha256 } = await share(server, 'hello world');
  const once = await share(server, 'hello', { single_use: true });
  const etag = `"${sha256}"`;
  const requests: [string, number, string, Record<string, string>][] = [
    ['get', 200, downloadUrl, {}],
    ['head', 200, downloadUrl, {}],
    ['get', 206, downloadUrl, { Range: 'bytes=1-3' }],
    ['get', 206, downloadUrl, { Range: 'bytes=0-1,4-5' }],
    ['get', 304, downloadUrl, { 'If-None-Match': etag }],
    ['get', 412, downloadUrl, { 'If-Match': '"other"' }],
    ['get', 416, downloadUrl, { Range: 'bytes=99-' }],
    ['get', 404, `${server.url}/files/unknown`, {}],
    ['head', 404, `${server.url}/files/unknown`, {}],
    ['get', 403, downloadUrl, { Origin: 'http://evil.example' }],
    ['get', 200, once.downloadUrl, {}],
    ['get', 404, once.downloadUrl, {}],
  ];
  for (const [method, status, url, headers] of requests) {
    const answer = await fetch(url, { method: method.toUpperCase(), headers });
    assert.equal(answer.status, status, `${method} ${JSON.stringify(headers)}`);
    await demandForeseen(document, '/files/{token}', method, answer);
  }
});

it('real answers to uploads, PUT and tus, good and bad, are as the document says', async () => {
  await using server = await startServer({ maxFileSize: 1000 });
  const document = await documentOf(server);
  const fresh = async (more = {}): Promise<string> =>
    (await server.call('request_upload', { filename: 'a.bin', ...more })).data.uploadUrl as string;
  const [whole, parts, wrong, gone] = [await fresh(), await fresh(), await fresh({ size: 3 }), await fresh()];
  const tus = { 'Tus-Resumable': '1.0.0' };
  const bytes = { ...tus, 'Content-Type': 'application/offset+octet-stream' };
  const requests: [string, number, string, Record<string, string>, string?][] = [
    ['get', 200, whole, {}],
    ['put', 201, whole, {}, 'hello'],
    ['put', 409, whole, {}, 'hello'],
    ['get', 200, whole, {}],
    ['put', 422, wrong, {}, 'hi'],
    ['put', 413, parts, {}, 'x'.repeat(2000)],
    ['put', 400, parts, { 'Content-Range': 'bytes 0-1/2' }, 'hi'],
    ['put', 404, `${server.url}/uploads/unknown`, {}, 'hello'],
    ['options', 204, parts, {}],
    ['post', 201, parts, { ...tus, 'Upload-Length': '10' }],
    ['post', 400, parts, tus],
    ['head', 200, parts, tus],
    ['patch', 204, parts, { ...bytes, 'Upload-Offset': '0' }, 'hello'],
    ['patch', 409, parts, { ...bytes, 'Upload-Offset': '0' }, 'hello'],
    ['patch', 415, parts, { ...tus, 'Content-Type': 'text/plain', 'Upload-Offset': '5' }, 'hello'],
    ['patch', 412, parts, { ...bytes, 'Tus-Resumable': '0.2.0', 'Upload-Offset': '5' }, 'hello'],
    ['patch', 400, parts, bytes, 'hello'],
    ['patch', 204, parts, { ...bytes, 'Upload-Offset': '5' }, 'world'],
    ['delete', 204, gone, tus],
    ['delete', 404, gone, tus],
  ];
  for (const [method, status, url, headers, body] of requests) {
    const answer = await fetch(url, {
      method: method.toUpperCase(),
      headers,
      ...(body === undefined ? {} : { body }),
    });
    assert.equal(answer.status, status, `${method} ${JSON.stringify(headers)}`);
    await demandForeseen(document, '/uploads/{token}', method, answer);
  }
});

it('real answers of the other routes, good and bad, are as the document says', async () => {
  await using server = await startServer();
  const document = await documentOf(server);
  const requests: [string, number, string][] = [
    ['/livez', 200, '/livez'],
    ['/readyz', 200, '/readyz'],
    ['/metrics', 200, '/metrics'],
    ['/status', 200, '/status'],
    ['/openapi.json', 200, '/openapi.json'],
    ['/.well-known/oauth-protected-resource', 404, '/.well-known/oauth-protected-resource'],
    ['/executions', 200, '/executions?limit=5&status=failed'],
    ['/executions', 400, '/executions?limit=many'],
    ['/executions/{id}', 404, '/executions/exec_000000000000'],
    ['/executions/{id}', 400, '/executions/x'],
    ['/{user_id}/artifacts', 200, '/local/artifacts'],
    ['/{user_id}/artifacts/{artifact_id}', 404, '/local/artifacts/none.txt'],
    ['/{user_id}/artifacts/{artifact_id}', 400, '/local/artifacts/.hidden'],
    ['/mcp', 400, '/mcp'],
  ];
  for (const [path, status, asked] of requests) {
    const answer = await fetch(server.url + asked);
    if (path === '/mcp') assert.ok(answer.status >= 400, asked);
    else assert.equal(answer.status, status, asked);
    await demandForeseen(document, path, 'get', answer);
  }
});

it('executions and artifacts of a real run are as the document says', { skip: noSandbox }, async () => {
  await using server = await startServer({ sandbox: 'bubblewrap', warmNode: 0, warmPython: 0 });
  const document = await documentOf(server);
  const { execution_id } = await run(server, 'bash', 'echo hello > /artifacts/a.txt; echo hi');
  const requests: [string, string][] = [
    ['/executions', '/executions'],
    ['/executions/{id}', `/executions/${execution_id}`],
    ['/{user_id}/artifacts', '/local/artifacts'],
    ['/{user_id}/artifacts/{artifact_id}', '/local/artifacts/a.txt'],
    ['/status', '/status'],
  ];
  for (const [path, asked] of requests) {
    const answer = await fetch(server.url + asked);
    assert.equal(answer.status, 200, asked);
    await demandForeseen(document, path, 'get', answer);
  }
});

it('with auth on, refusals of callers who have not signed in are as the document says', async () => {
  await using folder = await temporaryFolder();
  await using program = await serve(['--data', folder.path, '--auth', 'keys']);
  const document = (await (await fetch(`${program.url}/openapi.json`)).json()) as OpenApi;
  const guarded = operationsOf(document).filter(
    ({ method, operation }) => method === 'get' && operation.security?.some((one) => 'bearer' in one),
  );
  assert.ok(guarded.length >= 6);
  for (const { path } of guarded)
    for (const headers of [{}, { Authorization: 'Bearer wrong' }]) {
      const answer = await fetch(program.url + path.replaceAll(/[{}]/g, ''), { headers });
      assert.equal(answer.status, 401, path);
      await demandForeseen(document, path, 'get', answer);
    }
});

it('the check itself finds an answer that the document does not foresee', async () => {
  await using server = await startServer();
  const document = await documentOf(server);
  const json = (body: unknown, status = 200): Response => Response.json(body, { status });
  const wrong: Response[] = [
    json({}),
    json({ artifacts: 'a', count: 1 }),
    json({ artifacts: [], count: 0 }, 418),
  ];
  for (const answer of wrong)
    await assert.rejects(
      demandForeseen(document, '/{user_id}/artifacts', 'get', answer),
      assert.AssertionError,
    );
});

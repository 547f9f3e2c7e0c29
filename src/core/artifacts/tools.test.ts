import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { appendFileSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { createFiles } from '../files/files.ts';
import { createLinks } from '../links/links.ts';
import { openUploads } from '../links/open-uploads.ts';
import { createServerFactory } from '../../surfaces/mcp/server.ts';
import { createMetrics } from '../../platform/observability/metrics.ts';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';
import { memoryStorage } from '../../ports/storage/memory.ts';
import { ann, stage } from './artifacts.testing.ts';
import { bindTool } from '../offer/tool.ts';
import { declareArtifactTools } from './tools.ts';

const unlimited = { userBytes: 1e12, userFiles: 1e6, totalBytes: 1e12, totalFiles: 1e6 };
const baseUrl = 'http://127.0.0.1:1';

/** The tools behind a real client, which checks every answer against the schema that it was told. */
async function connected(
  options: { sizeLimit?: number; maxFileSize?: number; sharesMachine?: boolean } = {},
) {
  const set = await stage(options);
  const { database, log, artifacts } = set;
  const storage = memoryStorage();
  const clock = Date.now;
  const maxFileSize = options.maxFileSize ?? 1e9;
  const files = createFiles({ database, storage, openUploads, quotas: unlimited, maxFileSize, clock, log });
  const links = createLinks({ database, storage, files, uploadTtl: 60, maxBundleFiles: 10, clock, log });
  const room = { artifacts, files, links, baseUrl: () => baseUrl };
  const tools = declareArtifactTools({ fileTtl: 60, maxTtl: 600 }).map((tool) => bindTool(tool, room));
  const metrics = createMetrics();
  const factory = createServerFactory({
    structured: true,
    tools,
    metrics,
    log,
    sharesMachine: options.sharesMachine ?? false,
    caller: ann,
  });
  const server = await factory({} as Parameters<typeof factory>[0]);
  const client = new Client({ name: 'test', version: '1' });
  const [here, there] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(there), client.connect(here)]);
  await client.listTools();
  return {
    ...set,
    client,
    files,
    links,
    async call(name: string, input: Record<string, unknown> = {}) {
      const result = await client.callTool({ name, arguments: input });
      const content = result.content as { type: string; text?: string; data?: string; mimeType?: string }[];
      // oxlint-disable-next-line typescript/no-explicit-any -- a test names the fields that it expects
      const data = result.structuredContent as any;
      const meta = result._meta?.['workcrate/error'] as { code: string } | undefined;
      return { failed: result.isError === true, content, data, code: meta?.code ?? null };
    },
    async fetched(token: string): Promise<Buffer> {
      const { download } = await links.resolve(token);
      const [file] = (await files.list(ann, { limit: 1, after: null })).files;
      assert.equal(download.sha256, file?.sha256);
      await using object = await files.open(file!);
      return await buffer(object!.read(0, object!.size));
    },
    async [Symbol.asyncDispose]() {
      await client.close();
      await set[Symbol.asyncDispose]();
    },
  };
}

test('list_artifacts gives names and their count, and as text each name on one line', async () => {
  await using mcp = await connected();
  const none = await mcp.call('list_artifacts');
  assert.deepEqual(none.data, { artifacts: [], count: 0, total: 0, next: null });
  assert.match(none.content[0]!.text!, /no artifacts/);
  for (const name of ['b', 'a\nc']) mcp.put(name, 'x');
  const some = await mcp.call('list_artifacts');
  assert.deepEqual(some.data, { artifacts: ['a\nc', 'b'], count: 2, total: 2, next: null });
  assert.equal(some.content[0]!.text, '"a\\nc"\n"b"');
  for (let at = 0; at < 150; at++) mcp.put(`f${at}`, '');
  const many = await mcp.call('list_artifacts');
  assert.deepEqual([many.data.count, many.data.total], [100, 152]);
  const lines = many.content[0]!.text!.split('\n');
  assert.equal(lines.length, 101);
  assert.equal(lines.at(-1), `There are 152 in all. For the next page, call with after: ${lines.at(-2)}`);
});

test('list_artifacts goes on where the text or the page before ended', async () => {
  await using mcp = await connected();
  for (const name of ['a', 'b', 'c', 'd', 'e']) mcp.put(name, '');
  const first = await mcp.call('list_artifacts', { limit: 2 });
  assert.deepEqual(first.data, { artifacts: ['a', 'b'], count: 2, total: 5, next: 'b' });
  assert.match(
    first.content[0]!.text!,
    /^"a"\n"b"\nThere are 5 in all\. For the next page, call with after: "b"$/,
  );
  const last = await mcp.call('list_artifacts', { limit: 3, after: 'b' });
  assert.deepEqual(last.data, { artifacts: ['c', 'd', 'e'], count: 3, total: 5, next: null });
  assert.equal(last.content[0]!.text, '"c"\n"d"\n"e"\nThere are 5 in all.');
  const behind = await mcp.call('list_artifacts', { after: 'z' });
  assert.equal(behind.content[0]!.text, 'There are no artifacts after "z", and 5 in all.');
  assert.equal((await mcp.call('list_artifacts', { limit: 10_001 })).failed, true);
  recordProof('A1:any-number-in-pages');
});

test('a name with a backslash is listed with what to do, since it cannot be fetched', async () => {
  await using mcp = await connected();
  mcp.put('plain.txt', '');
  const before = await mcp.call('list_artifacts', {});
  assert.equal(before.content[0]!.text, '"plain.txt"');
  mcp.put('a\\b.txt', 'x');
  const { content, data } = await mcp.call('list_artifacts', {});
  assert.deepEqual(data['artifacts'], ['a\\b.txt', 'plain.txt']);
  assert.match(
    content[0]!.text!,
    /^"a\\\\b\.txt"\n"plain\.txt"\nNo artifact whose name has a backslash can be fetched \(1 here\)\. Rename it/,
  );
  assert.equal((await mcp.call('get_artifact', { name: 'a\\b.txt' })).code, 'invalid_input');
});

test('get_artifact takes the name that a run told, by either of its two arguments', async () => {
  await using mcp = await connected();
  mcp.put('trend.png', 'abc');
  for (const input of [
    { name: '/artifacts/trend.png' },
    { artifact_path: '/artifacts/trend.png' },
    { artifact_path: 'trend.png' },
  ]) {
    const { data } = await mcp.call('get_artifact', { ...input, delivery: 'base64' });
    assert.deepEqual(data, { artifact_id: 'trend.png', data: 'YWJj', encoding: 'base64' });
  }
  for (const input of [{}, { name: 'trend.png', artifact_path: 'trend.png' }]) {
    const { code, content } = await mcp.call('get_artifact', input);
    assert.equal(code, 'invalid_input');
    assert.match(content[0]!.text!, /give name, or artifact_path/);
  }
});

test('get_artifact gives a link to a copy in the one shape of links, and no byte of it', async () => {
  await using mcp = await connected();
  const bytes = randomBytes(3_000_001);
  mcp.put('plot.svg', bytes);
  const { data, content } = await mcp.call('get_artifact', { name: 'plot.svg', ttl_seconds: 30 });
  const { token, expiresAt, ...rest } = data;
  assert.deepEqual(rest, {
    filename: 'plot.svg',
    size: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    mediaType: 'image/svg+xml',
    downloadUrl: `${baseUrl}/files/${token}`,
  });
  assert.ok(Date.parse(expiresAt) <= Date.now() + 30_000);
  assert.deepEqual(
    content.map(({ type }) => type),
    ['text', 'resource_link'],
  );
  assert.match(content[0]!.text!, /curl -fsSL -o plot\.svg http/);
  appendFileSync(join(mcp.folder, 'plot.svg'), 'the artifact may change, the link does not');
  assert.deepEqual(await mcp.fetched(token), bytes);
  const [file] = (await mcp.files.list(ann, { limit: 1, after: null })).files;
  assert.equal(file?.origin, 'artifact');
});

test('single_use goes through to the link', async () => {
  await using mcp = await connected();
  mcp.put('x', '');
  const { data } = await mcp.call('get_artifact', { name: 'x', single_use: true });
  assert.equal((await mcp.links.status(ann, data.token)).link.singleUse, true);
});

test('with delivery base64 the bytes are in the text as in the typed value, and nothing is stored', async () => {
  await using mcp = await connected();
  const bytes = randomBytes(1000);
  mcp.put('x.bin', bytes);
  const { data, content } = await mcp.call('get_artifact', { name: 'x.bin', delivery: 'base64' });
  assert.deepEqual(data, { artifact_id: 'x.bin', data: bytes.toString('base64'), encoding: 'base64' });
  const text = `x.bin, 1000 bytes, as base64:\n${bytes.toString('base64')}`;
  assert.deepEqual(content, [{ type: 'text', text }]);
  assert.deepEqual((await mcp.files.list(ann, { limit: 1, after: null })).files, []);
});

const pictures: Record<string, Buffer> = {
  'image/png': Buffer.from('\x89PNG\r\n\x1a\n and more', 'latin1'),
  'image/jpeg': Buffer.from('\xff\xd8\xff\xe0 and more', 'latin1'),
  'image/gif': Buffer.from('GIF89a and more', 'latin1'),
  'image/webp': Buffer.from('RIFF\x10\0\0\0WEBPVP8 ', 'latin1'),
};

for (const [mimeType, bytes] of Object.entries(pictures))
  test(`show gives ${mimeType} as image content beside link or base64, by its bytes and not its name`, async () => {
    await using mcp = await connected();
    mcp.put('picture.txt', bytes);
    for (const delivery of ['link', 'base64']) {
      const plain = await mcp.call('get_artifact', { name: 'picture.txt', delivery });
      assert.ok(plain.content.every(({ type }) => type !== 'image'));
      const shown = await mcp.call('get_artifact', { name: 'picture.txt', delivery, show: true });
      assert.deepEqual(shown.content.at(-1), { type: 'image', data: bytes.toString('base64'), mimeType });
      assert.deepEqual(Object.keys(shown.data).sort(), Object.keys(plain.data).sort());
    }
  });

test('show leaves out what is no such picture or larger than 1 MB, and says so; the link is there', async () => {
  await using mcp = await connected();
  const png = pictures['image/png']!;
  mcp.put('exact.png', Buffer.concat([png, Buffer.alloc(1024 ** 2 - png.length)]));
  mcp.put('large.png', Buffer.concat([png, Buffer.alloc(1024 ** 2 + 1 - png.length)]));
  mcp.put('false.png', 'not a picture');
  mcp.put('empty.png', '');
  mcp.put('plot.svg', '<svg xmlns="http://www.w3.org/2000/svg"/>');
  const last = async (name: string) => {
    const { content, data } = await mcp.call('get_artifact', { name, show: true });
    assert.ok(data.downloadUrl);
    return { picture: content.at(-1)!.type === 'image', line: content[0]!.text!.split('\n')[1] };
  };
  assert.deepEqual(await last('exact.png'), { picture: true, line: undefined });
  const tooLarge = 'Not shown: it is larger than 1 MB.';
  assert.deepEqual(await last('large.png'), { picture: false, line: tooLarge });
  const noPicture = 'Not shown: it is not a PNG, JPEG, GIF or WebP.';
  for (const name of ['false.png', 'empty.png', 'plot.svg'])
    assert.deepEqual(await last(name), { picture: false, line: noPicture });
});

test('the limit is for base64 and what is shown; a link has the limit of files', async () => {
  await using mcp = await connected({ sizeLimit: 10, maxFileSize: 1000 });
  mcp.put('x', Buffer.alloc(11));
  const refused = await mcp.call('get_artifact', { name: 'x', delivery: 'base64' });
  assert.equal(refused.failed, true);
  assert.equal(refused.content[0]!.text, "Artifact 'x' is 11 bytes, exceeds limit of 10 bytes");
  const linked = await mcp.call('get_artifact', { name: 'x', show: true });
  assert.equal(linked.data.size, 11);
  assert.match(linked.content[0]!.text!, /\nNot shown: it is larger than 10 bytes\.$/);
  mcp.put('sparse', '');
  truncateSync(join(mcp.folder, 'sparse'), 1024 ** 4);
  const huge = await mcp.call('get_artifact', { name: 'sparse' });
  assert.equal(huge.code, 'too_large');
});

test('the words of the specification are the first line, then what to do, with the code beside them', async () => {
  await using mcp = await connected();
  for (const [name, text] of [
    ['a/b', "Invalid artifact path 'a/b': must be a filename, not a path (no '/' or '\\' allowed)"],
    ['/artifacts/../x', notAFilename('/artifacts/../x')],
    ['/artifacts/', notAFilename('/artifacts/')],
    ['/workspace/out.csv', notAFilename('/workspace/out.csv')],
    ['//artifacts/x', notAFilename('//artifacts/x')],
    ['.x', "Invalid artifact path '.x': cannot start with '.'"],
    ['x', 'Artifact not found: x'],
    ['', 'Artifact not found: '],
  ] as const)
    for (const delivery of ['link', 'base64']) {
      const { failed, content, code } = await mcp.call('get_artifact', { name, delivery });
      const expected = text.startsWith('Invalid') ? 'invalid_input' : 'not_found';
      const [first, ...advice] = content[0]!.text!.split('\n');
      assert.deepEqual([failed, first, code], [true, text, expected]);
      assert.match(advice.join('\n'), /list_artifacts shows them.*cp FILE \/artifacts\/$/);
    }
});

const notAFilename = (name: string): string =>
  `Invalid artifact path '${name}': must be a filename, not a path (no '/' or '\\' allowed)`;

test('a link is logged as a get with its user and size', async () => {
  await using mcp = await connected();
  mcp.put('x', 'abc');
  await mcp.call('get_artifact', { name: 'x' });
  const line = mcp.logged().find(({ event }) => event === 'artifact.get');
  assert.deepEqual(
    [line?.['level'], line?.['user'], line?.['name'], line?.['size'], line?.['delivery'], line?.['result']],
    ['info', 'ann', 'x', 3, 'link', 'ok'],
  );
  recordProof('A13:get-logged-with-user');
});

test('a name that is nearly right is answered with the one that is there', async () => {
  await using mcp = await connected();
  for (const name of ['plot.png', 'table "1".csv']) mcp.put(name, 'x');
  const ask = async (name: string) => (await mcp.call('get_artifact', { name })).content[0]!.text!;
  assert.match(
    await ask('plto.png'),
    /^Artifact not found: plto\.png\nDid you mean "plot\.png"\? Only files/,
  );
  assert.match(await ask('/artifacts/table "2".csv'), /Did you mean "table \\"1\\"\.csv"\?/);
  assert.doesNotMatch(await ask('something-else.txt'), /Did you mean/);
});

test('a client on the same machine is told where the artifact is', async () => {
  await using mcp = await connected({ sharesMachine: true });
  mcp.put('plot.svg', 'x');
  const { content, data } = await mcp.call('get_artifact', { name: 'plot.svg' });
  const [first, second] = content[0]!.text!.split('\n');
  assert.equal(first, `1 bytes, local path: ${join(mcp.folder, 'plot.svg')}`);
  assert.match(second!, new RegExp(`^Or until \\S+Z: curl -fsSLOJ ${data.downloadUrl}$`));
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client, StreamableHTTPClientTransport, type ClientCapabilities } from '@modelcontextprotocol/client';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';
import { collectText } from '../../platform/streams.ts';
import { fileAt } from './cache/cache.testing.ts';
import { renderUploadPage } from './page.ts';
import { call, stage } from './requests/stage.testing.ts';

// oxlint-disable-next-line typescript/no-explicit-any -- a test names the fields that it expects
type Any = any;

/** The official client, held to MCP 2026-07-28. */
async function connected(url: string, capabilities: ClientCapabilities) {
  const options = { capabilities, versionNegotiation: { mode: { pin: '2026-07-28' } } } as const;
  const client = new Client({ name: 'bridge', version: '1' }, options);
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)));
  const use = async (name: string, input: Record<string, unknown>): Promise<Any> =>
    client.callTool({ name, arguments: input });
  return { client, use, [Symbol.asyncDispose]: () => client.close() };
}

test('over MCP 2026-07-28 a form is filled, decoded, and remembered', async () => {
  await using it = await stage();
  await using far = await connected(it.url, { elicitation: { form: {} } });
  let asked = 0;
  far.client.setRequestHandler('elicitation/create', () => {
    asked++;
    return { action: 'accept', content: { content: 'Grüße' } };
  });
  const asking = { path: 'docs/a.md', encoding: 'ascii', via: 'form' };
  const first = await far.use('read_client_file', asking);
  const { text, encoding, fell_back, rung, cached } = first.structuredContent;
  assert.deepEqual([text, encoding, fell_back, rung, cached], ['Grüße', 'utf-8', true, 'form', false]);
  assert.match(
    first.content[0].text,
    /^docs\/a\.md, 7 bytes, in utf-8, since it is not in ascii, typed into a form 0 s ago \(remembered for an hour; refresh: true asks for it anew\):\nGrüße$/,
  );
  const second = await far.use('read_client_file', { path: 'docs/a.md' });
  assert.deepEqual([second.structuredContent.cached, asked], [true, 1]);
  const refused = await far.use('read_client_file', { path: '../x' });
  assert.match(refused.content[0].text, /^SecurityError: /);
  assert.equal(asked, 1);
});

test('what was typed is text, whatever the encoding of the file is said to be', async () => {
  await using it = await stage();
  const [read] = it.tools;
  const can = { elicitation: { form: {} } };
  const input = { path: 'docs/a.txt', encoding: 'utf-16', via: 'form' };
  const { state }: Any = await read!.handle(input, call(can));
  const answer = { kind: 'elicit', action: 'accept', content: { content: 'Größe' } } as const;
  const typed: Any = await read!.handle(input, call(can, { state, answer }));
  const { text, encoding, fell_back } = typed.structured;
  assert.deepEqual([text, encoding, fell_back], ['Größe', 'utf-8', true]);
  const remembered: Any = await read!.handle({ ...input, encoding: 'latin-1' }, call(can));
  assert.equal(remembered.structured.text, 'Größe');
});

test('what is no text comes by link, unless its bytes or an encoding are asked for', async () => {
  await using it = await stage();
  const [read] = it.tools;
  const bytes = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.alloc(500)]);
  it.cache.put('ann', null, { ...fileAt('docs/p.png', ''), bytes, rung: 'given' });
  const got = async (more: object): Promise<Any> =>
    ((await read!.handle({ path: 'docs/p.png', ...more }, call())) as Any).structured;
  const plain = await got({});
  assert.deepEqual([plain.text, plain.data, plain.link.size], [undefined, undefined, bytes.length]);
  assert.equal(Buffer.from((await got({ binary: true })).data, 'base64').length, bytes.length);
  assert.equal((await got({ encoding: 'latin-1' })).text.length, bytes.length);
});

test('what is remembered is read in the encoding in which it was given', async () => {
  await using it = await stage();
  const [read] = it.tools;
  const bytes = Buffer.from('日本語', 'utf16le');
  const file = { ...fileAt('docs/j.txt', ''), bytes, encoding: 'utf-16', rung: 'given' } as const;
  it.cache.put('ann', null, file);
  const { structured }: Any = await read!.handle({ path: 'docs/j.txt' }, call());
  assert.deepEqual([structured.text, structured.fell_back], ['日本語', false]);
});

test('over MCP 2026-07-28 a page takes bytes of any size, and large ones pass by the conversation', async () => {
  await using it = await stage();
  await using far = await connected(it.url, { elicitation: { url: {} } });
  const bytes = Buffer.alloc(200_000, 7);
  far.client.setRequestHandler('elicitation/create', async ({ params }) => {
    assert.ok(params.mode === 'url');
    const page = await fetch(params.url);
    assert.match(await page.text(), /<code>large.bin<\/code>/);
    await fetch(params.url.replace('/ask/', '/uploads/'), { method: 'PUT', body: bytes });
    return { action: 'accept' };
  });
  const answer = await far.use('read_client_file', { path: 'docs/large.bin', binary: true, via: 'url' });
  const { size, data, file_id, link, rung } = answer.structuredContent;
  assert.deepEqual([size, data, rung, link.size], [200_000, undefined, 'url', 200_000]);
  assert.match(file_id, /^file_/);
  assert.equal(answer.content[1].type, 'resource_link');
  assert.ok(answer.content[0].text.length < 500);
  const again = await far.use('read_client_file', { path: 'docs/large.bin' });
  assert.deepEqual([again.structuredContent.cached, again.structuredContent.file_id], [true, file_id]);
});

test('a recursive listing is a tree in the text and in the structured content, and a long one is a file as well', async () => {
  await using it = await stage();
  const [, list] = it.tools;
  const can = { elicitation: {} };
  const listed = async (content: string, pattern?: string, recursive = true): Promise<Any> => {
    const input = { path: 'docs', recursive, pattern, via: 'form' };
    const { state } = (await list!.handle(input, call(can))) as Any;
    const answer = { kind: 'elicit', action: 'accept', content: { content } } as const;
    return list!.handle(input, call(can, { state, answer }));
  };
  const short = await listed('docs/a.md\nfile 3 0 docs/a/b.md\ndocs/a/');
  assert.equal(
    short.text,
    ['docs: 3 entries, typed into a form', '  a/', '    b.md  3 bytes  1970-01-01T00:00:00Z', '  a.md'].join(
      '\n',
    ),
  );
  const none = { size: null, mtime: null };
  assert.deepEqual(short.structured.entries, [
    {
      path: 'docs/a',
      name: 'a',
      type: 'folder',
      ...none,
      children: [{ path: 'docs/a/b.md', name: 'b.md', type: 'file', size: 3, mtime: 0 }],
    },
    { path: 'docs/a.md', name: 'a.md', type: 'file', ...none },
  ]);
  const same = await listed('docs/a/x.md\ndocs/b/c/x.md\ndocs/b/y.md', '**/x.md');
  assert.deepEqual(
    same.text.split('\n').slice(1),
    ['  a/', '    x.md', '  b/', '    c/', '      x.md'],
    'a name alone does not tell where it is',
  );
  assert.equal(same.structured.total, 2);
  const [a, b] = same.structured.entries;
  assert.deepEqual(
    [a.children[0].path, b.children[0].name, b.children[0].children[0].path],
    ['docs/a/x.md', 'c', 'docs/b/c/x.md'],
  );
  assert.doesNotMatch(same.text, /set recursive/);
  assert.match((await listed('docs/a/x.md', '**/x.md', false)).text, /set recursive\.$/);
  const long = await listed(Array.from({ length: 1001 }, (_, at) => `docs/${at}`).join('\n'));
  assert.deepEqual([long.structured.entries.length, long.structured.total], [1000, 1001]);
  const file = await it.files.find({ user: 'ann' }, long.structured.file_id);
  await using object = (await it.files.open(file!))!;
  const text = await collectText(object.read(0, object.size));
  assert.equal(text.trim().split('\n').length, 1001);
  const deep = 'd'.repeat(200);
  const wide = await listed(Array.from({ length: 300 }, (_, at) => `docs/${deep}/${at}`).join('\n'));
  const [folder] = wide.structured.entries;
  assert.ok(folder.children.length < 300, 'long names fill a conversation as well');
  assert.deepEqual([wide.structured.total, typeof wide.structured.file_id], [301, 'string']);
  const chains = Array.from({ length: 20 }, (_, at) => `docs/${at}/${'d/'.repeat(240)}x`);
  const chained = await listed(chains.join('\n'), '**/x');
  assert.ok(JSON.stringify(chained.structured.entries).length < 200_000, 'and so do folders in folders');
  assert.equal(chained.structured.total, 20);
  recordProof('E1:recursion-as-a-tree');
});

test('an offer tells what to run, and when it ends', async () => {
  await using it = await stage();
  const [read] = it.tools;
  const { text, structured }: Any = await read!.handle({ path: 'docs/a.md' }, call());
  assert.deepEqual([structured.status, structured.rung], ['offered', 'upload']);
  assert.ok(text.includes(structured.offer.command));
  assert.ok(structured.offer.command.includes(structured.offer.uploadUrl));
  assert.ok(text.includes(structured.offer.pageUrl) && text.includes('guide_cache_file'));
  assert.ok(text.includes(structured.offer.expiresAt.slice(0, 16)));
  assert.doesNotMatch(text, /via:/, 'of what this client cannot do');
  const asking: Any = await read!.handle(
    { path: 'docs/a.md' },
    call({ elicitation: { form: {}, url: {} }, sampling: {} }),
  );
  assert.match(asking.text, /call again with via: "url" or via: "form" or via: "sampling"/);
  assert.equal((await fetch(structured.offer.pageUrl)).status, 200);
  await assert.rejects(read!.handle({ path: 'docs/a.md', encoding: 'klingon' }, call()), {
    code: 'invalid_input',
  });
});

test('the page tells name, folder, server and time, escaped, and lets nothing else run', async () => {
  await using it = await stage();
  const name = `<img src=x onerror=alert(1)>&"'`;
  assert.ok(
    (
      await renderUploadPage({ operation: 'list', name, path: `/home/eve/${name}`, expiresAt: 0 }, name)
    ).includes('&lt;img src=x onerror=alert(1)&gt;&amp;&quot;&#39;'),
  );
  const { ask }: Any = await it.bridge.read(
    { path: 'docs/plans/a.md', via: 'url' },
    call({ elicitation: { url: {} } }),
  );
  const { url } = ask.client_file.params;
  const page = await fetch(url);
  const shown = await page.text();
  assert.match(shown, /in the folder\s+<code>docs\/plans<\/code>/);
  assert.match(shown, new RegExp(`<dd>${new URL(url).host}</dd>[^]*<time datetime=`));
  const policy = page.headers.get('content-security-policy')!;
  assert.match(policy, /default-src 'none'; .*script-src 'sha256-.*frame-ancestors 'none'/);
  assert.doesNotMatch(policy, /unsafe/);
  assert.equal(page.headers.get('cache-control'), 'no-store');
  assert.equal(page.headers.get('referrer-policy'), 'no-referrer');
  assert.equal((await fetch(url, { method: 'HEAD' })).status, 200);
  assert.equal((await fetch(url, { method: 'POST' })).status, 405);
  assert.equal((await fetch(`${it.url}/ask/${'a'.repeat(43)}`)).status, 404);
  it.time.now += 601_000;
  assert.equal((await fetch(url)).status, 404);
});

import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { InputResponseView } from '@modelcontextprotocol/server';
import { WorkcrateError } from '../../platform/errors.ts';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';
import { fileAt } from './cache/cache.testing.ts';
import type { ClientListing } from './client-files.ts';
import { isAsked, isFile, isListing, isOffered, paramsOf, sh, text } from './requests/answers.testing.ts';
import { call, stage } from './requests/stage.testing.ts';

const sha256Of = (size: number): string => hash('sha256', Buffer.alloc(size, 7), 'hex');
const form = { elicitation: { form: {} } };
const filled = (content: string): InputResponseView => ({
  kind: 'elicit',
  action: 'accept',
  content: { content },
});
const saying = (words: string): InputResponseView => ({
  kind: 'sampling',
  result: { model: 'm', role: 'assistant', content: { type: 'text', text: words } },
});

test('a client that can be asked nothing gets the command for its shell, and the next call has the file', async () => {
  await using it = await stage();
  const path = "docs/it's $(touch x) `id`.bin";
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, at) => at));
  it.put(path, bytes);
  await assert.rejects(it.bridge.read({ path }, call()), { code: 'path_refused' });
  const odd = "docs/it's; id & more -T.bin";
  it.put(odd, bytes);
  const { command, rung } = isOffered(await it.bridge.read({ path: odd }, call()));
  assert.equal(rung, 'upload');
  assert.equal(isOffered(await it.bridge.read({ path: odd }, call())).command, command, 'told again');
  await sh(it.project, command);
  const file = isFile(await it.bridge.read({ path: odd, binary: true }, call()));
  assert.deepEqual([Buffer.from(file.bytes), file.rung, file.cached], [bytes, 'upload', false]);
  assert.deepEqual(
    (await it.files.list({ user: 'ann' }, { limit: 10, after: null })).files,
    [],
    'taken over',
  );
  isOffered(await it.bridge.read({ path: odd }, call()));
  const again = isFile(await it.bridge.read({ path: odd, size: 256, maxAgeSeconds: 60 }, call()));
  assert.equal(again.cached, true);
  isOffered(await it.bridge.read({ path: odd, refresh: true, maxAgeSeconds: 60 }, call()));
  isOffered(await it.bridge.read({ path: odd }, call({}, { user: 'bob' })));
  isOffered(await it.bridge.read({ path: odd, sha256: 'a'.repeat(64) }, call()));
  recordProof('E7:told-what-it-can-do-instead');
});

test('the command sends nothing where a link stands in the path', async () => {
  await using it = await stage();
  writeFileSync(join(it.home, 'secret'), 'secret');
  symlinkSync('../../secret', join(it.project, 'docs/file.md'));
  mkdirSync(join(it.home, 'elsewhere'));
  writeFileSync(join(it.home, 'elsewhere/file.md'), 'secret');
  symlinkSync('../../elsewhere', join(it.project, 'docs/folder'));
  for (const path of ['docs/file.md', 'docs/folder/file.md']) {
    const { command } = isOffered(await it.bridge.read({ path }, call()));
    await assert.rejects(sh(it.project, command));
    isOffered(await it.bridge.read({ path }, call()));
  }
  const listed = isOffered(await it.bridge.list({ path: 'docs/folder' }, call()));
  await assert.rejects(sh(it.project, listed.command));
});

test('a listing comes by the shell, and the pattern is applied again', async () => {
  await using it = await stage();
  for (const name of ['a.md', "b it's.md", "c'.txt", 'sub/d.md', '.hidden.md'])
    it.put(`docs/${name}`, 'four');
  symlinkSync('a.md', join(it.project, 'docs/link.md'));
  const seen = (listing: ClientListing) =>
    listing.entries.map(({ path, type, size }) => `${type} ${size} ${path}`);
  const input = { path: 'docs', recursive: true, pattern: '**/*.md' };
  const expected = [
    'file 4 docs/a.md',
    "file 4 docs/b it's.md",
    'link null docs/link.md',
    'file 4 docs/sub/d.md',
  ];
  const byFind = isOffered(await it.bridge.list(input, call()));
  await sh(it.project, byFind.command);
  const listing = isListing(await it.bridge.list(input, call()));
  assert.deepEqual([seen(listing), listing.rung, listing.hidden], [expected, 'upload', 1]);
  assert.ok(listing.entries.every(({ mtime }) => Math.abs(mtime! - Date.now()) < 600_000));
  const flat = { path: 'docs', pattern: '*.md' };
  await sh(it.project, isOffered(await it.bridge.list(flat, call())).command);
  const names = isListing(await it.bridge.list(flat, call())).entries.map(({ path }) => path);
  assert.deepEqual(names, ['docs/a.md', "docs/b it's.md", 'docs/link.md']);
});

test('a form gives a small text, once, in time, to whom was asked', async () => {
  await using it = await stage();
  const input = { path: 'docs/a.md', via: 'form' } as const;
  const question = isAsked(await it.bridge.read(input, call(form)));
  const { state } = question;
  assert.match(paramsOf(question)['message'], /docs\/a\.md/);
  const again = (more: object) => call(form, { state, answer: filled('Grüße'), ...more });
  await assert.rejects(it.bridge.read({ ...input, path: 'docs/b.md' }, again({})), { code: 'invalid_input' });
  await assert.rejects(it.bridge.list(input, again({})), { code: 'invalid_input' });
  await assert.rejects(it.bridge.read(input, again({ user: 'bob' })), { code: 'invalid_input' });
  isAsked(await it.bridge.read({ ...input, path: 'docs/b.md', amongOthers: true }, again({})));
  const file = isFile(await it.bridge.read(input, again({})));
  assert.deepEqual([text(file), file.rung], ['Grüße', 'form']);
  await assert.rejects(it.bridge.read({ ...input, refresh: true }, again({})), { code: 'invalid_input' });
  const late = isAsked(await it.bridge.read({ ...input, refresh: true }, call(form)));
  it.time.now += 60_001;
  const tooLate = call(form, { state: late.state, answer: filled('late') });
  await assert.rejects(it.bridge.read({ ...input, refresh: true }, tooLate), { code: 'client_timeout' });
  assert.equal(text(isFile(await it.bridge.read(input, call(form)))), 'Grüße');
});

test('what a client refuses, leaves out or lies about is a clear error, and nothing of it is remembered', async () => {
  await using it = await stage();
  const table: readonly [InputResponseView, string, object?][] = [
    [{ kind: 'elicit', action: 'decline' }, 'client_refused'],
    [{ kind: 'elicit', action: 'cancel' }, 'client_refused'],
    [{ kind: 'elicit', action: 'accept' }, 'client_refused'],
    [{ kind: 'missing' }, 'client_refused'],
    [{ kind: 'roots', roots: [] }, 'client_refused'],
    [filled('x'.repeat(65_537)), 'too_large'],
    [filled('x\ud800y'), 'invalid_input'],
    [filled('four'), 'size_mismatch', { size: 5 }],
    [filled('four'), 'hash_mismatch', { sha256: 'a'.repeat(64) }],
  ];
  for (const [answer, code, more] of table) {
    const input = { path: 'docs/a.md', via: 'form', ...more } as const;
    const { state } = isAsked(await it.bridge.read(input, call(form)));
    await assert.rejects(it.bridge.read(input, call(form, { state, answer })), { code });
  }
  assert.equal(it.cache.statistics().entries, 0);
  isAsked(await it.bridge.read({ path: 'docs/a.md', via: 'form' }, call(form)));
  recordProof('E6:none-is-cached');
});

test('a way that the client does not have is an error that names what it can do', async () => {
  await using it = await stage();
  for (const via of ['direct', 'url', 'form', 'sampling'] as const)
    await assert.rejects(
      it.bridge.read({ path: 'docs/a.md', via }, call()),
      (error: Error & { code: string }) => {
        assert.equal(error.code, 'client_unsupported');
        assert.match(error.message, /curl .*\/uploads\/[^]*\/ask\/[^]*guide_cache_file[^]*as a resource/);
        return true;
      },
    );
  isOffered(await it.bridge.read({ path: 'docs/a.bin', binary: true }, call(form)));
  recordProof('E6:unsupported-client', 'E7:told-what-it-can-do-instead');
});

test('a path is judged before anything is asked: leaving the project is a violation, else it is a mistake', async () => {
  await using it = await stage();
  await assert.rejects(it.bridge.read({ path: 'docs/../../etc/passwd' }, call(form)), {
    code: 'path_refused',
  });
  await assert.rejects(it.bridge.list({ path: 'secrets' }, call(form)), { code: 'path_not_allowed' });
  assert.deepEqual(
    it.noted.map(({ operation, kind, level, subject }) => [operation, kind, level, subject]),
    [
      ['read_client_file', 'traversal', 'warning', 'docs/../../etc/passwd'],
      ['list_client_directory', undefined, 'info', 'secrets'],
    ],
  );
  recordProof('E2:path-judged-before-anything-is-asked', 'E4:not-allowed-inside-is-a-mistake');
});

test('a client that lists what lies elsewhere is seen through, and that is noted', async () => {
  await using it = await stage();
  const input = { path: 'docs', via: 'form' } as const;
  const { state } = isAsked(await it.bridge.list(input, call(form)));
  const answer = filled(
    'docs/a.md\nfile 12 2026-01-31T12:00:00Z docs/b c.md\ndocs/more/\n../x\n/etc/passwd\nsrc/y',
  );
  const listing = isListing(await it.bridge.list(input, call(form, { state, answer })));
  assert.deepEqual(listing.entries, [
    { path: 'docs/a.md', type: 'file', size: null, mtime: null },
    { path: 'docs/b c.md', type: 'file', size: 12, mtime: Date.parse('2026-01-31T12:00:00Z') },
    { path: 'docs/more', type: 'folder', size: null, mtime: null },
  ]);
  assert.deepEqual([listing.hidden, listing.rung], [3, 'form']);
  assert.deepEqual(it.noted.find(({ kind }) => kind === 'answered_outside')?.details, { outside: 3 });
});

test('a model gives a file between marks, by a tool or by guide_cache_file', async () => {
  await using it = await stage();
  const can = { sampling: {} };
  const read = async (path: string, answerTo: (mark: string) => InputResponseView, more = {}) => {
    const input = { path, via: 'sampling', ...more } as const;
    const { state } = isAsked(await it.bridge.read(input, call(can)));
    return it.bridge.read(input, call(can, { state, answer: answerTo(String(state['nonce'])) }));
  };
  const marked = (content: string) => (mark: string) =>
    saying(`Here:\nBEGIN-${mark}\n${content}\nEND-${mark}`);
  assert.equal(text(isFile(await read('docs/a.md', marked('one\n\ntwo\n')))), 'one\n\ntwo\n');
  const ofWindows = (mark: string) => saying(`Here:\r\nBEGIN-${mark}\r\none\r\ntwo\r\nEND-${mark}\r\n`);
  assert.equal(text(isFile(await read('docs/windows.md', ofWindows))), 'one\r\ntwo');
  await assert.rejects(read('docs/half.md', marked('x\ud800y')), { code: 'invalid_input' });
  const bytes = isFile(await read('docs/b.bin', marked('AP8='), { binary: true }));
  assert.deepEqual([...bytes.bytes, bytes.rung], [0, 255, 'sampling']);
  await assert.rejects(
    read('docs/c.md', (mark) => saying(`NOT-FOUND-${mark}`)),
    { code: 'path_not_found' },
  );
  await assert.rejects(
    read('docs/c.md', (mark) => saying(`DENIED-${mark}`)),
    { code: 'client_refused' },
  );
  await assert.rejects(
    read('docs/c.md', () => saying('BEGIN-x\nmine\nEND-x')),
    { code: 'client_refused' },
  );
  const given = {
    path: 'docs/d.md',
    bytes: Buffer.from('d'),
    mtime: null,
    sha256: 'd',
    rung: 'sampling',
  } as const;
  const cached = await read('docs/d.md', () => {
    it.cache.put('ann', null, { ...given, encoding: null });
    return saying('CACHED');
  });
  assert.equal(text(isFile(cached)), 'd');
});

test('a model that has tools calls one, about the file that was asked for', async () => {
  await using it = await stage();
  const can = { sampling: { tools: {} } };
  const calling = (input: Record<string, unknown>): InputResponseView => ({
    kind: 'sampling',
    result: {
      model: 'm',
      role: 'assistant',
      content: [{ type: 'tool_use', id: '1', name: 'guide_cache_file', input }],
    },
  });
  const read = async (input: Record<string, unknown>) => {
    const asking = { path: 'docs/a.md', via: 'sampling' } as const;
    const question = isAsked(await it.bridge.read(asking, call(can)));
    assert.equal(paramsOf(question)['tools'][0].name, 'guide_cache_file');
    const { state } = question;
    return it.bridge.read(asking, call(can, { state, answer: calling(input) }));
  };
  const content = 'text';
  await assert.rejects(read({ path: 'docs/b.md', content }), { code: 'client_refused' });
  await assert.rejects(read({ path: 'docs/a.md', content, size: 9 }), { code: 'size_mismatch' });
  assert.equal(text(isFile(await read({ path: 'docs/a.md', content, size: 4 }))), content);
});

test('a page takes the file; agreeing to open it is not enough', async () => {
  await using it = await stage({ timeoutMs: 100 });
  const can = { elicitation: { url: {} } };
  const input = { path: 'docs/a.md', via: 'url' } as const;
  const accept = { kind: 'elicit', action: 'accept' } as const;
  const first = isAsked(await it.bridge.read(input, call(can)));
  const { url } = paramsOf(first);
  const second = isAsked(await it.bridge.read(input, call(can, { state: first.state, answer: accept })));
  assert.equal(paramsOf(second)['url'], url, 'asked once more');
  const third = call(can, { state: second.state, answer: accept });
  await assert.rejects(it.bridge.read(input, third), { code: 'client_timeout' });
  const asked = isAsked(await it.bridge.read(input, call(can)));
  const sent = await fetch(String(url).replace('/ask/', '/uploads/'), { method: 'PUT', body: 'from a page' });
  assert.equal(sent.status, 201);
  const file = isFile(await it.bridge.read(input, call(can, { state: asked.state, answer: accept })));
  assert.deepEqual([text(file), file.rung], ['from a page', 'url']);
  assert.equal((await fetch(url)).status, 404, 'the page is gone with it');
  const declined = isAsked(await it.bridge.read({ ...input, refresh: true }, call(can)));
  const no = call(can, { state: declined.state, answer: { kind: 'elicit', action: 'decline' } });
  await assert.rejects(it.bridge.read({ ...input, refresh: true }, no), { code: 'client_refused' });
  assert.equal((await fetch(paramsOf(declined)['url'])).status, 404, 'and when it was declined');
});

test('what a client on this machine gave is not for one elsewhere that says it has the same project', async () => {
  await using it = await stage();
  const can = { elicitation: { form: {} } };
  const near = { sharesMachine: true };
  const input = { path: 'docs/own.md', via: 'form' } as const;
  const { state } = isAsked(await it.bridge.read(input, call(can, near)));
  const answer = { kind: 'elicit', action: 'accept', content: { content: 'mine' } } as const;
  const given = isFile(await it.bridge.read(input, call(can, { ...near, state, answer })));
  assert.equal(text(given), 'mine');
  assert.equal(isFile(await it.bridge.read(input, call(can, near))).cached, true);
  isAsked(await it.bridge.read(input, call(can)));
});

test('a client that does not say where its project is can be asked for its files all the same', async () => {
  await using it = await stage();
  const can = { roots: {}, elicitation: { form: {} } };
  const input = { path: 'docs/a.md', via: 'form' } as const;
  const { state } = isAsked(await it.bridge.read(input, call(can)));
  const context = call(can, { state });
  const refusing = {
    ...context.client,
    answer: () => {
      throw new WorkcrateError('client_refused', 'no');
    },
  };
  const { ask } = isAsked(await it.bridge.read(input, { ...context, client: refusing }));
  assert.equal(Object.values(ask)[0]?.method, 'elicitation/create');
});

test('two calls at once get one URL, and what was said wrongly of a file is not held against it', async () => {
  await using it = await stage();
  const offer = async (input: object) =>
    isOffered(await it.bridge.read({ path: 'docs/a.md', ...input }, call({}))).uploadUrl;
  const [one, other] = await Promise.all([offer({}), offer({})]);
  assert.equal(one, other);
  assert.equal(await offer({}), one);
  assert.notEqual(await offer({ size: 10 }), one);
});

test('a wrong name of an encoding is told before anybody is asked, and noted', async () => {
  await using it = await stage();
  await assert.rejects(it.bridge.read({ path: 'docs/a.md', encoding: 'klingon' }, call(form)), {
    code: 'invalid_input',
  });
  assert.deepEqual(
    it.noted.map(({ subject, result, level }) => [subject, result, level]),
    [['docs/a.md', 'invalid_input', 'info']],
  );
});

test('a listing that shows a later change has the file asked for anew', async () => {
  await using it = await stage();
  const input = { path: 'docs/a.md', maxAgeSeconds: 60 };
  it.put('docs/a.md', 'one');
  utimesSync(join(it.project, 'docs/a.md'), 1, 1);
  const list = async () => {
    await sh(it.project, isOffered(await it.bridge.list({ path: 'docs' }, call())).command);
    isListing(await it.bridge.list({ path: 'docs' }, call()));
  };
  await sh(it.project, isOffered(await it.bridge.read(input, call())).command);
  isFile(await it.bridge.read(input, call()));
  await list();
  assert.equal(isFile(await it.bridge.read(input, call())).cached, true);
  const later = it.time.now / 1000 + 5;
  utimesSync(join(it.project, 'docs/a.md'), later, later);
  await list();
  isOffered(await it.bridge.read(input, call()));
});

test('where the allowed folders are absolute, the client is asked for its project before it is judged', async () => {
  await using it = await stage({ paths: { read: ['/p/q/data'], list: null } });
  const can = { roots: {} };
  const input = { path: 'data/a.csv' };
  const asked = () => call(can, { user: 'cleo' });
  const { state } = isAsked(await it.bridge.read(input, asked()));
  const answer: InputResponseView = { kind: 'roots', roots: [{ uri: 'file:///p/q' }] };
  isOffered(await it.bridge.read(input, call(can, { user: 'cleo', state, answer })));
  await assert.rejects(it.bridge.read({ path: 'docs/a.md' }, asked()), { code: 'path_not_allowed' });
  assert.equal(it.noted.filter(({ result }) => result === 'path_not_allowed').length, 1);
});

test('what is too large for memory stays stored, is told of again, and can be sent anew', async () => {
  await using it = await stage({ mostBytes: 1000 });
  const input = { path: 'docs/large.bin' };
  it.put('docs/large.bin', Buffer.alloc(5000, 7));
  const send = async (more = {}) =>
    sh(it.project, isOffered(await it.bridge.read({ ...input, ...more }, call())).command);
  await send();
  const stored = async (more = {}) => {
    const answer = await it.bridge.read({ ...input, ...more }, call());
    assert.ok('stored' in answer, JSON.stringify(answer));
    return answer.stored;
  };
  const { id, size } = await stored();
  const again = await stored({ maxAgeSeconds: 60 });
  assert.deepEqual([size, again.id, it.cache.statistics().entries], [5000, id, 0]);
  await send();
  assert.notEqual((await stored()).id, id);
  const said = { path: 'docs/other.bin', size: 5000, sha256: 'a'.repeat(64) };
  it.put('docs/other.bin', Buffer.alloc(5000, 8));
  await assert.rejects(async () => sh(it.project, isOffered(await it.bridge.read(said, call())).command));
});

test('of many calls at once for a file that was sent, at least one has it, and none has another', async () => {
  await using it = await stage({ mostBytes: 1000 });
  for (const [path, size] of [
    ['docs/small.bin', 500],
    ['docs/large.bin', 5000],
  ] as const) {
    it.put(path, Buffer.alloc(size, 7));
    await sh(it.project, isOffered(await it.bridge.read({ path }, call())).command);
    const all = await Promise.all(Array.from({ length: 8 }, () => it.bridge.read({ path }, call())));
    const had = all.filter((answer) => !('offer' in answer));
    assert.ok(had.length > 0, path);
    for (const answer of had) assert.equal('sha256' in answer && answer.sha256, sha256Of(size), path);
  }
});

test('what is kept of a large file gives way to what is given by hand, forgotten, or seen to have changed', async () => {
  await using it = await stage({ mostBytes: 1000 });
  const input = { path: 'docs/large.bin' };
  it.put(input.path, Buffer.alloc(5000, 7));
  const send = async () => {
    await sh(it.project, isOffered(await it.bridge.read(input, call())).command);
    const first = await it.bridge.read(input, call());
    const second = await it.bridge.read({ ...input, maxAgeSeconds: 60 }, call());
    assert.ok('stored' in first && 'stored' in second);
    assert.deepEqual([first.cached, second.cached], [false, true]);
  };
  await send();
  it.time.now += 1;
  it.cache.put('ann', null, { ...fileAt(input.path, 'given'), rung: 'given' });
  assert.equal(text(isFile(await it.bridge.read(input, call()))), 'given');
  it.cache.forgetPath('ann', null, input.path);
  assert.equal(await it.bridge.forgetKept({ user: 'ann' }, null, input.path), true);
  await send();
  it.put(input.path, Buffer.alloc(6000, 7));
  await sh(it.project, isOffered(await it.bridge.list({ path: 'docs' }, call())).command);
  isListing(await it.bridge.list({ path: 'docs' }, call()));
  isOffered(await it.bridge.read(input, call()));
});

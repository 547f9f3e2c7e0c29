import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InputResponseView } from '@modelcontextprotocol/server';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';
import { isAsked, isFile, isListing, isOffered, paramsOf, sh, text } from './requests/answers.testing.ts';
import { call, stage } from './requests/stage.testing.ts';

const minutes = (count: number): number => count * 60_000;
const accepted: InputResponseView = { kind: 'elicit', action: 'accept', content: { content: 'by a person' } };

test('what a shell sent answers one call, so that an edit is seen by the next', async () => {
  await using it = await stage();
  const input = { path: 'docs/a.md' };
  const send = async (content: string) => {
    it.put(input.path, content);
    await sh(it.project, isOffered(await it.bridge.read(input, call())).command);
  };
  for (const content of ['version 1', 'version 2', 'version 3']) {
    await send(content);
    const file = isFile(await it.bridge.read(input, call()));
    assert.deepEqual([text(file), file.rung, file.cached], [content, 'upload', false]);
  }
  isOffered(await it.bridge.read({ ...input, via: 'upload' }, call()));
  recordProof('E5:what-an-agent-sent-answers-one-call');
});

test('a call that allows an age has an earlier copy that is not older, and is told its age', async () => {
  await using it = await stage();
  const [read] = it.tools;
  const input = { path: 'docs/a.md' };
  it.put(input.path, 'version 1');
  await sh(it.project, isOffered(await it.bridge.read(input, call())).command);
  isFile(await it.bridge.read(input, call()));
  it.put(input.path, 'version 2');
  it.time.now += 90_000;
  isOffered(await it.bridge.read({ ...input, maxAgeSeconds: 60 }, call()));
  isOffered(await it.bridge.read({ ...input, maxAgeSeconds: 120, refresh: true }, call()));
  // oxlint-disable-next-line typescript/no-explicit-any -- a test names the fields that it expects
  const answer = (await read!.handle({ ...input, max_age_s: 120 }, call())) as any;
  const { text: old, cached, age_s, source, to_refresh } = answer.structured;
  assert.deepEqual([old, cached, age_s, source], ['version 1', true, 90, 'sent by your shell']);
  assert.match(to_refresh, /refresh: true/);
  assert.match(
    answer.text,
    /sent by your shell 1 min 30 s ago \(remembered; refresh: true asks for it anew\):\nversion 1$/,
  );
  recordProof('E5:age-that-a-call-allows', 'E5:answer-says-since-when-and-how-to-refresh');
});

test('what a person gave is remembered for an hour, by form or by page, also by the page of a command', async () => {
  await using it = await stage();
  const form = { elicitation: { form: {} } };
  const byForm = { path: 'docs/form.md', via: 'form' } as const;
  const { state } = isAsked(await it.bridge.read(byForm, call(form)));
  isFile(await it.bridge.read(byForm, call(form, { state, answer: accepted })));
  const byPage = { path: 'docs/page.md' };
  const { pageUrl, uploadUrl } = isOffered(await it.bridge.read(byPage, call()));
  assert.notEqual(
    pageUrl!.split('/').at(-1),
    uploadUrl!.split('/').at(-1),
    'who sends it is known by the URL',
  );
  const put = { method: 'PUT', body: 'by a person' };
  assert.equal((await fetch(pageUrl!.replace('/ask/', '/uploads/'), put)).status, 201);
  it.time.now += minutes(59);
  for (const { path } of [byForm, byPage]) {
    const file = isFile(await it.bridge.read({ path }, call()));
    assert.equal(text(file), 'by a person');
  }
  const again = isFile(await it.bridge.read(byPage, call()));
  assert.deepEqual([again.rung, again.cached], ['url', true]);
  isOffered(await it.bridge.read({ ...byPage, maxAgeSeconds: 60 }, call()));
  isOffered(await it.bridge.read({ ...byPage, refresh: true }, call()));
  it.time.now += minutes(2);
  for (const { path } of [byForm, byPage]) isOffered(await it.bridge.read({ path }, call()));
  recordProof('E5:what-a-person-gave-for-an-hour');
});

test('what was sent for a call waits for it some minutes, and answers no call long after', async () => {
  await using it = await stage();
  const input = { path: 'docs/a.md' };
  it.put(input.path, 'left behind');
  const send = async () => sh(it.project, isOffered(await it.bridge.read(input, call())).command);
  await send();
  it.time.now += minutes(4);
  assert.equal(text(isFile(await it.bridge.read(input, call()))), 'left behind');
  await send();
  it.time.now += minutes(6);
  isOffered(await it.bridge.read(input, call()));
  assert.equal(text(isFile(await it.bridge.read({ ...input, maxAgeSeconds: 600 }, call()))), 'left behind');
  const folder = { path: 'docs' };
  const list = async () => sh(it.project, isOffered(await it.bridge.list(folder, call())).command);
  await list();
  it.time.now += minutes(6);
  isOffered(await it.bridge.list(folder, call()));
  await list();
  isListing(await it.bridge.list(folder, call()));
  isOffered(await it.bridge.list(folder, call()));
});

test('a call that has not used what was sent finds it again, and what is used is gone', async () => {
  await using it = await stage();
  const [one, two] = [{ path: 'docs/one.md' }, { path: 'docs/two.md' }];
  for (const { path } of [one, two]) it.put(path, path);
  await sh(it.project, isOffered(await it.bridge.offer(one, call())).command);
  const find = async (input: typeof one) => it.bridge.find(input, call());
  assert.ok(await find(one));
  assert.equal(await find(two), null, 'so the run asks for it');
  await sh(it.project, isOffered(await it.bridge.offer(two, call())).command);
  for (const input of [one, two]) {
    const found = await find(input);
    assert.ok(found !== null && 'spend' in found);
    await found.spend!();
    assert.equal(await find(input), null);
  }
});

test('a client that declines is not called a person, and the answer has the next way', async () => {
  await using it = await stage();
  const can = { elicitation: { form: {}, url: {} } };
  for (const via of ['form', 'url'] as const)
    for (const action of ['decline', 'cancel'] as const) {
      const input = { path: `docs/${via}-${action}.md`, via };
      it.put(input.path, 'sent after all');
      const { state } = isAsked(await it.bridge.read(input, call(can)));
      const no = it.bridge.read(input, call(can, { state, answer: { kind: 'elicit', action } }));
      const { message, code } = await no.then(
        () => assert.fail('declined'),
        (error: Error & { code: string }) => error,
      );
      assert.equal(code, 'client_refused');
      assert.doesNotMatch(message, /person/);
      assert.match(message, /the client declined, and did not say whether anyone was asked/);
      const command = message.split('\n').find((line) => line.includes('curl '));
      await sh(it.project, command!);
      assert.equal(text(isFile(await it.bridge.read({ path: input.path }, call(can)))), 'sent after all');
    }
});

test('nobody is asked unless a call says so', async () => {
  await using it = await stage();
  const all = { elicitation: { form: {}, url: {} }, sampling: {} };
  const offer = isOffered(await it.bridge.read({ path: 'docs/a.md' }, call(all)));
  assert.deepEqual(offer.askable, ['url', 'form', 'sampling']);
  isOffered(await it.bridge.list({ path: 'docs' }, call(all)));
  const page = isAsked(await it.bridge.read({ path: 'docs/a.md', via: 'url' }, call(all)));
  assert.equal(paramsOf(page)['url'], offer.pageUrl, 'the page that the offer named');
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InputResponseView } from '@modelcontextprotocol/server';
import { WorkcrateError } from '../../platform/errors.ts';
import { isAsked, isFile, paramsOf, text } from './requests/answers.testing.ts';
import { call, stage } from './requests/stage.testing.ts';

const can = { elicitation: { url: {} } };
const accepted: InputResponseView = { kind: 'elicit', action: 'accept', content: {} };
const send = (url: string, body: string) => fetch(url.replace('/ask/', '/uploads/'), { method: 'PUT', body });

test('of two calls that wait for one page, both have what comes by it', async () => {
  await using it = await stage();
  const input = { path: 'docs/a.md', via: 'url' } as const;
  const ask = async () => isAsked(await it.bridge.read(input, call(can)));
  const [one, other] = [await ask(), await ask()];
  assert.equal(paramsOf(one)['url'], paramsOf(other)['url']);
  const wait = ({ state }: typeof one) => it.bridge.read(input, call(can, { state, answer: accepted }));
  const waiting = Promise.all([wait(one), wait(other)]);
  assert.equal((await send(paramsOf(one)['url'], 'here')).status, 201);
  assert.deepEqual((await waiting).map(isFile).map(text), ['here', 'here']);
});

test('nothing can be sent by a page that the client refused to open', async () => {
  await using it = await stage();
  const input = { path: 'docs/a.md', via: 'url' } as const;
  const asked = isAsked(await it.bridge.read(input, call(can)));
  const context = call(can, { state: asked.state });
  const refusing = {
    ...context.client,
    answer: () => {
      throw new WorkcrateError('client_refused', 'no');
    },
  };
  await assert.rejects(it.bridge.read(input, { ...context, client: refusing }), {
    code: 'client_refused',
    message: /^no Instead, run this[^]*curl [^]*\/ask\//,
  });
  assert.equal((await send(paramsOf(asked)['url'], 'late')).status, 404);
});

test('while a page is waited for, progress only grows, also when it is shown again', async () => {
  await using it = await stage({ timeoutMs: 2000 });
  const seen: number[] = [];
  const progress = (value: number): void => void seen.push(value);
  const input = { path: 'docs/a.md', via: 'url' } as const;
  const { state } = isAsked(await it.bridge.read(input, call(can)));
  const again = isAsked(await it.bridge.read(input, { ...call(can, { state, answer: accepted }), progress }));
  const last = { ...call(can, { state: again.state, answer: accepted }), progress };
  await assert.rejects(it.bridge.read(input, last), { code: 'client_timeout' });
  assert.ok(seen.length >= 2);
  assert.deepEqual(
    seen,
    seen.toSorted((a, b) => a - b),
  );
});

test('a server that stops waits for nobody at a page', async () => {
  await using it = await stage();
  const stop = new AbortController();
  const input = { path: 'docs/a.md', via: 'url' } as const;
  const { state } = isAsked(await it.bridge.read(input, call(can)));
  const waiting = { ...call(can, { state, answer: accepted }), progress: () => stop.abort() };
  await assert.rejects(it.bridge.read(input, { ...waiting, stopping: stop.signal }), { code: 'stopping' });
});

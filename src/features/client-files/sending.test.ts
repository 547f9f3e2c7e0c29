import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isListing, isOffered, sh } from './requests/answers.testing.ts';
import { call, stage } from './requests/stage.testing.ts';

test('a command that sent no listing has not shown that the folder is empty', async () => {
  await using it = await stage();
  const input = { path: 'docs', recursive: true };
  const send = async (body: string) => {
    const { uploadUrl } = isOffered(await it.bridge.list(input, call()));
    assert.equal((await fetch(uploadUrl!, { method: 'PUT', body })).status, 201);
    return it.bridge.list(input, call());
  };
  for (const body of ['', '<html>502 Bad Gateway</html>', '{"error":"nope"}', 'f\t1\t1.0\tlong-nam'])
    await assert.rejects(send(body), { code: 'invalid_input' }, body);
  assert.equal(isListing(await send('{"path":"a.md"}\n')).cut, true);
  const empty = isListing(await send('{"end":true}'));
  assert.deepEqual([empty.entries.length, empty.cut, empty.hidden], [0, false, 0]);
});

test('the command sends no folder for a file', async () => {
  await using it = await stage();
  mkdirSync(join(it.project, 'docs/sub'));
  const { command } = isOffered(await it.bridge.read({ path: 'docs/sub' }, call()));
  await assert.rejects(sh(it.project, command), { code: 1 });
  isOffered(await it.bridge.read({ path: 'docs/sub' }, call()));
});

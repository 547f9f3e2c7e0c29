import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createPolicy } from '../policy/policy.ts';
import { listDirectly, openDirectly } from './direct.ts';
import type { FileRequest } from './file-request.ts';

function project() {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'workcrate-direct-')));
  mkdirSync(join(root, 'docs'));
  const policy = createPolicy({ root, read: null, list: null });
  const errandTo = (path: string, recursive = false): FileRequest => ({
    operation: 'list',
    path: policy.judge(path, 'list'),
    root,
    projectKey: root,
    binary: false,
    size: null,
    sha256: null,
    recursive,
    pattern: null,
  });
  const list = (path: string, recursive: boolean) => {
    const request = errandTo(path, recursive);
    return policy.judgeListing(request.path, listDirectly(request, policy), {
      recursive,
      pattern: null,
      from: 'folder',
    });
  };
  return { root, policy, errandTo, list, [Symbol.dispose]: () => rmSync(root, { recursive: true }) };
}

test('folders that lie too deep are told of as cut, where they were asked for', async () => {
  using it = project();
  mkdirSync(join(it.root, 'docs', ...Array.from({ length: 70 }, () => 'd')), { recursive: true });
  const deep = await it.list('docs', true);
  assert.deepEqual([deep.cut, deep.entries.length < 70], [true, true]);
  const flat = await it.list('docs', false);
  assert.deepEqual([flat.cut, flat.entries.length], [false, 1]);
});

test('names that no text can hold are counted among what was left out', async () => {
  using it = project();
  writeFileSync(join(it.root, 'docs/a.md'), '');
  for (const byte of [0xfe, 0xff])
    writeFileSync(Buffer.concat([Buffer.from(join(it.root, 'docs/')), Buffer.from([byte])]), '');
  const { entries, hidden, cut } = await it.list('docs', false);
  assert.deepEqual([entries.map(({ path }) => path), hidden, cut], [['docs/a.md'], 2, false]);
});

test('a path that is too long for the system is a clear error, and no violation', () => {
  using it = project();
  const path = `docs${`/${'n'.repeat(200)}`.repeat(20)}/${'m'.repeat(60)}`;
  makeStepwise(it.root, path);
  assert.throws(() => openDirectly(it.errandTo(path), it.policy), {
    code: 'client_refused',
    message: /longer than this system takes.*via: "upload"/,
  });
});

/** No call takes so long a path at once. */
function makeStepwise(root: string, path: string): void {
  const before = process.cwd();
  process.chdir(root);
  for (const name of path.split('/')) {
    mkdirSync(name, { recursive: true });
    process.chdir(name);
  }
  process.chdir(before);
}

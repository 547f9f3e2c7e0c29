import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { recordProof } from '../../../../test/requirements/requirements.testing.ts';
import { createPathPolicy } from '../policy/policy.ts';
import { listDirectly, openDirectly } from './direct.ts';
import type { FileRequest } from './file-request.ts';

function project() {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'workcrate-direct-')));
  mkdirSync(join(root, 'docs'));
  const policy = createPathPolicy({ root, read: null, list: null });
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

test('files of any name that the system has are read and listed in place', async () => {
  using it = project();
  const names = 'What?.md a*b a:b "q" a|b <x> a~1.md dot. aux.md con.md 100%25.md $HOME.md `x` {a,b}'.split(
    ' ',
  );
  for (const name of [...names, 'end ', ' start']) {
    writeFileSync(join(it.root, 'docs', name), name);
    using file = openDirectly(it.errandTo(`docs/${name}`), it.policy);
    assert.equal(file.stats.size, Buffer.byteLength(name), name);
  }
  const { entries, hidden } = await it.list('docs', false);
  assert.deepEqual(
    entries.map(({ path }) => path.slice(5)).toSorted(),
    [...names, 'end ', ' start'].toSorted(),
  );
  assert.equal(hidden, 0);
  // A disk of Windows may open what is hidden by its short name, which no folder lists.
  writeFileSync(join(it.root, 'docs/.env'), 'secret');
  symlinkSync('.env', join(it.root, 'docs/ENV~2'));
  for (const name of ['ENV~1', 'ENV~2'])
    assert.throws(() => openDirectly(it.errandTo(`docs/${name}`), it.policy), /There is no|hidden/, name);
  assert.throws(() => openDirectly(it.errandTo('docs/*.md'), it.policy), /literal name.*takes a pattern/);
  recordProof('E4:legal-names-of-posix-pass');
});

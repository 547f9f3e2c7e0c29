import assert from 'node:assert/strict';
import { chmodSync, existsSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { InputResponseView } from '@modelcontextprotocol/server';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';
import { createFilesystemChallenges } from './client-files.ts';
import { createPathPolicy } from './policy/policy.ts';
import { isAsked, isFile, isListing, isOffered, sh, text } from './requests/answers.testing.ts';
import { openDirectly } from './requests/direct.ts';
import { call, stage } from './requests/stage.testing.ts';

test('files are read directly only after the proof, and only what is allowed there', async () => {
  await using it = await stage();
  const roots: InputResponseView = {
    kind: 'roots',
    roots: [{ uri: 'https://x/' }, { uri: `file://${it.project}` }],
  };
  const can = { roots: {} };
  const near = { sharesMachine: true };
  it.put('docs/a.md', 'one');
  writeFileSync(join(it.project, '.env'), 'secret');
  writeFileSync(join(it.home, 'out'), 'secret');
  for (const [name, target] of [
    ['in', 'a.md'],
    ['env', '../.env'],
    ['out', '../../out'],
    ['loop', 'loop'],
    ['nothing', '../../nothing'],
    ['absolute', join(it.project, 'docs/a.md')],
  ] as const)
    symlinkSync(target, join(it.project, 'docs', name));
  const { state } = isAsked(await it.bridge.read({ path: 'docs/a.md' }, call(can, near)));
  const told = isOffered(
    await it.bridge.read({ path: 'docs/a.md' }, call(can, { ...near, state, answer: roots })),
  );
  assert.equal(told.rung, 'upload');
  const read = (path: string, more = {}) => it.bridge.read({ path, ...more }, call(can, near));
  await assert.rejects(read('docs/a.md', { proof: 'guessed' }), { code: 'client_refused' });
  const { command } = isOffered(await read('docs/a.md', { via: 'direct' }));
  const { stdout: proof } = await sh(it.project, command);
  await assert.rejects(it.bridge.read({ path: 'docs/a.md', proof }, call(can)), {
    code: 'client_unsupported',
  });
  const file = isFile(await read('docs/a.md', { proof }));
  assert.deepEqual([text(file), file.rung, typeof file.mtime], ['one', 'direct', 'number']);
  assert.equal(isFile(await read(join(it.project, 'docs/a.md'))).cached, true);
  it.put('docs/a.md', 'two');
  utimesSync(join(it.project, 'docs/a.md'), 1, 1);
  assert.equal(text(isFile(await read('docs/a.md'))), 'two', 'an older time shows a change as well');
  assert.equal(text(isFile(await read('docs/in'))), 'two');
  assert.equal(text(isFile(await read('docs/absolute'))), 'two');
  it.put('docs/b.md', 'TWO');
  utimesSync(join(it.project, 'docs/b.md'), 1, 1);
  rmSync(join(it.project, 'docs/in'));
  symlinkSync('b.md', join(it.project, 'docs/in'));
  assert.equal(text(isFile(await read('docs/in'))), 'TWO', 'another file of the same size and time');
  rmSync(join(it.project, 'docs/b.md'));
  for (const path of ['docs/out', 'docs/nothing', 'docs/loop'])
    await assert.rejects(read(path), { code: 'path_refused' }, path);
  await assert.rejects(
    read('docs/env'),
    { code: 'path_not_allowed' },
    'it leads to another file of the project',
  );
  await assert.rejects(read('docs/none.md'), {
    code: 'path_not_found',
    message: /^There is no "docs\/none\.md"/,
  });
  it.put('docs/sub/b.md', '');
  const violations = () => it.noted.filter(({ level }) => level === 'warning').length;
  const before = violations();
  await assert.rejects(read('docs/sub'), { code: 'invalid_input', message: /folder/ });
  await assert.rejects(it.bridge.list({ path: 'docs/a.md' }, call(can, near)), {
    code: 'invalid_input',
    message: /read_client_file/,
  });
  assert.equal(violations(), before, 'a mistake is no violation');
  rmSync(join(it.project, 'docs/sub'), { recursive: true });
  const listing = isListing(await it.bridge.list({ path: 'docs', recursive: true }, call(can, near)));
  assert.deepEqual(
    listing.entries.map(({ path, type }) => `${type} ${path.replace('docs/', '')}`),
    ['file a.md', 'link absolute', 'link env', 'link in', 'link loop', 'link nothing', 'link out'],
  );
  isAsked(await it.bridge.read({ path: 'docs/a.md', refresh: true }, call(can, { ...near, user: 'bob' })));
  it.time.now += 3_600_001;
  isAsked(await read('docs/new.md'));
});

test('what may not be read is told as that', async () => {
  await using it = await stage();
  it.put('docs/a.md', 'one');
  chmodSync(join(it.project, 'docs/a.md'), 0);
  const policy = createPathPolicy({ root: it.project, read: null, list: null });
  const [path, none] = [policy.judge('docs/a.md', 'read'), { size: null, sha256: null, pattern: null }];
  const request = {
    operation: 'read',
    path,
    root: it.project,
    projectKey: it.project,
    binary: false,
    recursive: false,
    ...none,
  } as const;
  assert.throws(() => asNobody(() => openDirectly(request, policy)), { code: 'client_refused' });
  recordProof('E6:permission-denied');
});

/** Root may read everything. */
function asNobody<T>(act: () => T): T {
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid!(65_534);
  try {
    return act();
  } finally {
    if (isRoot) process.seteuid!(0);
  }
}

test('a proof that is given counts, whichever way was wanted before', async () => {
  await using it = await stage({ root: null });
  const near = { sharesMachine: true };
  const roots: InputResponseView = { kind: 'roots', roots: [{ uri: `file://${it.project}` }] };
  const can = { roots: {} };
  it.put('docs/a.md', 'one');
  const input = { path: 'docs/a.md', via: 'upload' } as const;
  const { state } = isAsked(await it.bridge.read(input, call(can, { ...near, user: 'eve' })));
  const told = call(can, { ...near, user: 'eve', state, answer: roots });
  const { proofCommand } = isOffered(await it.bridge.read(input, told));
  const { stdout: proof } = await sh(it.project, proofCommand!);
  const file = isFile(await it.bridge.read({ ...input, proof }, call(can, { ...near, user: 'eve' })));
  assert.equal(file.rung, 'direct');
});

test('what a process that was killed left for proofs goes with the next one', async () => {
  await using it = await stage();
  const [old, young] = ['old', 'young'].map((name) => join(it.home, `workcrate-proof-${name}`)) as [
    string,
    string,
  ];
  for (const file of [old, young]) writeFileSync(file, '');
  utimesSync(old, 1, 1);
  const proofs = createFilesystemChallenges({ clock: Date.now, folder: it.home });
  proofs.challenge('ann', it.project);
  assert.deepEqual([existsSync(old), existsSync(young)], [false, true]);
  proofs[Symbol.dispose]();
});

test('once proven, the file itself is read, not what was sent before', async () => {
  await using it = await stage();
  const can = { roots: {} };
  const near = { sharesMachine: true, user: 'fay' };
  const roots: InputResponseView = { kind: 'roots', roots: [{ uri: `file://${it.project}` }] };
  const input = { path: 'docs/a.md' };
  it.put(input.path, 'sent');
  const { state } = isAsked(await it.bridge.read(input, call(can, near)));
  const offer = isOffered(await it.bridge.read(input, call(can, { ...near, state, answer: roots })));
  await sh(it.project, offer.command);
  it.put(input.path, 'now');
  const { stdout: proof } = await sh(it.project, offer.proofCommand!);
  const file = isFile(await it.bridge.read({ ...input, proof }, call(can, near)));
  assert.deepEqual([text(file), file.rung], ['now', 'direct']);
});

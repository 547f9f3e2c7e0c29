import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readdirSync, readFileSync, readSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { getErrno, isWorkcrateError } from '../errors.ts';
import { openBelow, parsePath, type FolderRoot } from './paths.ts';
import { openDescriptors, playground, type Playground } from './playground.testing.ts';

const contested = ['file', 'folder/secret', 'outer/folder/secret'];

test('the attack works on realpath followed by open, so that the tests below mean something', async () => {
  await using battle = await battlefield();
  const deadline = Date.now() + 30_000;
  let escapes = 0;
  while (escapes === 0 && Date.now() < deadline)
    escapes += openedAfterRealpath(battle.root) === 'secret' ? 1 : 0;
  assert.ok(escapes > 0);
});

for (const [links, opens] of [
  ['refuse', 60_000],
  ['within', 20_000],
] as const) {
  test(`in ${opens} opens under attack none leads outside (links: ${links})`, async () => {
    await using battle = await battlefield();
    const root = openBelow(battle.root, { links, walkMethod: 'descriptors' });
    const paths = contested.map((path) => parsePath(path));
    const seen = new Map<string, number>();
    const before = openDescriptors();
    for (let turn = 0; turn < opens; turn++) {
      const outcome = attempt(() => {
        using file = root.open(paths[turn % paths.length] ?? parsePath('.'));
        const bytes = Buffer.alloc(6);
        readSync(file.fd, bytes);
        return bytes.toString();
      });
      seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
    }
    assert.equal(seen.get('secret'), undefined);
    assert.ok((seen.get('inside') ?? 0) > 0 && (seen.get('link') ?? 0) > 0, JSON.stringify([...seen]));
    assert.equal(openDescriptors(), before);
  });
}

test('under attack nothing outside is created, renamed, replaced or removed', async () => {
  await using battle = await battlefield();
  const root = openBelow(battle.root, { walkMethod: 'descriptors' });
  const done = new Map<string, number>();
  for (let turn = 0; turn < 1_500; turn++) {
    for (const [what, act] of changes(root)) {
      const outcome = `${what}: ${attempt(act)}`;
      done.set(outcome, (done.get(outcome) ?? 0) + 1);
    }
  }
  assert.deepEqual(readdirSync(battle.outside), ['secret']);
  assert.equal(readFileSync(join(battle.outside, 'secret'), 'utf8'), 'secret');
  for (const [what] of changes(root)) {
    assert.ok(done.has(`${what}: done`) && done.has(`${what}: link`), JSON.stringify([...done]));
  }
});

/** `secret` stands in both folders, so that a step outside would replace or remove the wrong one. */
function changes(root: FolderRoot): [string, () => string][] {
  const [fresh, second, secret, made] = ['fresh', 'second', 'secret', 'made'].map((name) =>
    parsePath(`folder/${name}`),
  );
  assert.ok(fresh && second && secret && made);
  return [
    ['create', () => (root.create(fresh)[Symbol.dispose](), 'done')],
    ['link', () => (root.link(fresh, second), 'done')],
    ['remove link', () => (root.remove(second), 'done')],
    ['rename', () => (root.rename(fresh, secret), 'done')],
    ['remove', () => (root.remove(secret), 'done')],
    ['make', () => (root.makeFolder(made), 'done')],
    ['remove folder', () => (root.remove(made), 'done')],
  ];
}

function attempt(act: () => string): string {
  try {
    return act();
  } catch (error) {
    if (isWorkcrateError(error)) return String(error.details['kind'] ?? error.code);
    throw error;
  }
}

function openedAfterRealpath(root: string): string {
  try {
    const real = realpathSync(join(root, 'folder/secret'));
    return real.startsWith(`${root}/`) ? readFileSync(real, 'utf8') : 'refused';
  } catch (error) {
    if (getErrno(error) !== null) return 'failed';
    throw error;
  }
}

async function battlefield(): Promise<Playground & AsyncDisposable> {
  const play = playground();
  writeFileSync(join(play.root, 'folder', 'secret'), 'inside');
  mkdirSync(join(play.root, 'outer'));
  cpSync(join(play.root, 'folder'), join(play.root, 'outer', 'folder'), { recursive: true });
  const script = fileURLToPath(new URL('./swap-links.testing.ts', import.meta.url));
  const attacker = fork(script, [play.root], { execArgv: [] });
  const ended = once(attacker, 'exit');
  await once(attacker, 'message');
  return {
    ...play,
    async [Symbol.asyncDispose]() {
      if (attacker.connected) attacker.disconnect();
      const [code] = await ended;
      play[Symbol.dispose]();
      assert.equal(code, 0, 'the attacker failed before the end');
    },
  };
}

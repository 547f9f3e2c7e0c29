import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { appendFileSync, mkdirSync, renameSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';
import type { Report, Sandbox } from '../../ports/sandbox/sandbox.ts';
import { plainSandbox } from '../../core/runs/plain-sandbox.testing.ts';
import { ada, bob, openRoom, type TestRoom } from '../../core/runs/room.testing.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

const workspaceOf = async ({ places }: TestRoom): Promise<string> => (await places.of('ada')).workspace;

/** Runs whose code reports this. */
function reporting(sandbox: Sandbox, ...headers: Report['header'][]): Sandbox {
  async function* report(): AsyncGenerator<Report> {
    for (const header of headers) yield { header, payload: new Uint8Array() };
  }
  return { ...sandbox, start: async (request) => ({ ...(await sandbox.start(request)), reports: report() }) };
}

const opened = (paths: unknown, complete: unknown = true) => ({ type: 'opened', cell: 0, paths, complete });

test('what an earlier execution left in the working directory is an input, with its hash and its maker', async () => {
  await using room = await openRoom();
  const first = await room.run({ code: 'echo 1,2 > a.csv; mkdir d; echo x > d/b', workingDir: 'steps' });
  const { execution } = await room.run({
    code: 'cat a.csv > c.csv; echo more >> a.csv',
    workingDir: 'steps',
  });
  const madeBy = first.execution.id;
  const sorted = execution.knownInputs.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  assert.deepEqual(sorted, [
    { path: '/workspace/steps/a.csv', size: 4, sha256: sha256('1,2\n'), how: 'found', madeBy },
    { path: '/workspace/steps/d/b', size: 2, sha256: sha256('x\n'), how: 'found', madeBy },
  ]);
  assert.deepEqual([execution.inputsMayBeIncomplete, execution.inputNotes], [false, []]);
  assert.deepEqual(await room.executions.get(ada, execution.id), execution);
  const third = await room.run({ workingDir: 'steps' });
  const makers = Object.fromEntries(third.execution.knownInputs.map(({ path, madeBy }) => [path, madeBy]));
  assert.deepEqual(makers, {
    '/workspace/steps/a.csv': execution.id,
    '/workspace/steps/c.csv': execution.id,
    '/workspace/steps/d/b': madeBy,
  });
  recordProof('B13:known-inputs-left-by-earlier-executions');
});

test('a file that somebody else changed, renamed or replaced since has no maker', async () => {
  await using room = await openRoom();
  await room.run({ code: 'echo a > a; echo b > b; echo c > c; echo d > d', workingDir: '/workspace' });
  const workspace = await workspaceOf(room);
  appendFileSync(join(workspace, 'a'), 'more');
  renameSync(join(workspace, 'b'), join(workspace, 'e'));
  utimesSync(join(workspace, 'c'), new Date(0), new Date(0));
  const { execution } = await room.run({ workingDir: '/workspace' });
  const known = execution.knownInputs.filter(({ madeBy }) => madeBy !== null);
  assert.deepEqual(
    known.map(({ path }) => path),
    ['/workspace/d'],
  );
  assert.equal(execution.knownInputs.length, 4);
  const other = await room.run({ code: 'echo d > d', workingDir: '/workspace' }, bob);
  assert.deepEqual(other.execution.knownInputs, []);
});

test('files that a run was given are inputs, and are not named twice', async () => {
  await using room = await openRoom();
  const workspace = await workspaceOf(room);
  writeFileSync(join(workspace, 'there'), 'mine');
  const others = [
    {
      name: 'a',
      origin: {},
      size: 1,
      open: async function* () {
        yield Buffer.from('a');
      },
    },
  ];
  const { execution } = await room.run({ others, workingDir: '/workspace' });
  assert.deepEqual(
    execution.inputs.map(({ name }) => name),
    ['a'],
  );
  assert.deepEqual(
    execution.knownInputs.map(({ path }) => path),
    ['/workspace/there'],
  );
  recordProof('B13:known-inputs-named-in-the-call');
});

test('what Bash and Node open is not seen: where they could read other files, the record says so', async () => {
  await using room = await openRoom();
  const alone = await room.run({ code: 'true' });
  assert.deepEqual([alone.execution.inputsMayBeIncomplete, alone.execution.inputNotes], [false, []]);
  await room.run({ code: 'echo x > "$ARTIFACTS/x"' });
  for (const language of ['bash', 'node'] as const) {
    const { execution } = await room.run({ language, code: language === 'bash' ? 'true' : '0' });
    assert.equal(execution.inputsMayBeIncomplete, true, language);
    assert.match(execution.inputNotes.join(), /opens is not seen/);
  }
  const { execution } = await room.run({ language: 'python', code: 'pass' });
  assert.match(execution.inputNotes.join(), /Python did not report what it opened/);
});

test('in Python, what it says that it opened is an input: hashed, with its maker, and complete', async () => {
  await using plain = plainSandbox();
  await using maker = await openRoom({ sandbox: plain });
  const made = await maker.run({ code: 'echo 1 > a.csv; echo 2 > "$ARTIFACTS/b.csv"' });
  const folder = `/workspace/${made.execution.id}`;
  const paths = [
    `${folder}/../${made.execution.id}/a.csv`,
    '/artifacts/b.csv',
    '/artifacts/made-now',
    '/workspace/missing',
    '/etc/passwd',
    '/workspace/../../etc/passwd',
    `${folder}/__pycache__/x.pyc`,
  ];
  const libraries = { type: 'libraries', versions: { numpy: '1.24.2' } };
  const sandbox = reporting(plain, opened(paths), libraries, { type: 'result' }, {});
  await using room = await openRoom({ sandbox, database: maker.database, places: maker.places } as never);
  const { execution } = await room.run({
    language: 'python',
    code: 'import os; open(os.environ["ARTIFACTS"] + "/made-now", "w").write("x")',
  });
  assert.deepEqual(execution.knownInputs, [
    { path: `${folder}/a.csv`, size: 2, sha256: sha256('1\n'), how: 'opened', madeBy: made.execution.id },
    { path: '/artifacts/b.csv', size: 2, sha256: sha256('2\n'), how: 'opened', madeBy: made.execution.id },
  ]);
  assert.deepEqual([execution.inputsMayBeIncomplete, execution.libraries], [false, { numpy: '1.24.2' }]);
  recordProof('B13:known-inputs-opened-by-python', 'B13:library-versions-recorded');
});

test('what it opened and changed is an input as it was found, or one that nobody could hash', async () => {
  await using plain = plainSandbox();
  const paths = ['/workspace/x/found', '/artifacts/old', '/workspace/elsewhere', '/workspace/made'];
  const sandbox = reporting(plain, opened(paths));
  await using room = await openRoom({ sandbox });
  const { workspace, artifacts } = await room.places.of('ada');
  mkdirSync(join(workspace, 'x'));
  writeFileSync(join(workspace, 'x/found'), 'before');
  writeFileSync(join(artifacts, 'old'), 'before');
  writeFileSync(join(workspace, 'elsewhere'), 'before');
  await pause(30);
  const { execution } = await room.run({
    code: 'for f in found "$ARTIFACTS/old" ../elsewhere ../made; do echo > "$f"; done',
    workingDir: 'x',
    language: 'bash',
  });
  assert.deepEqual(
    execution.knownInputs.map(({ path, sha256: hash, how }) => [path, hash, how]),
    [
      ['/workspace/x/found', sha256('before'), 'opened'],
      ['/artifacts/old', null, 'opened'],
      ['/workspace/elsewhere', null, 'opened'],
    ],
  );
  assert.match(execution.inputNotes.join(), /could not be hashed/);
});

test('forged reports name no file of anybody else, and say at most that there may be more', async () => {
  await using plain = plainSandbox();
  const many = Array.from({ length: 3000 }, (_, at) => `/workspace/${at}`);
  const forged = [
    opened(many),
    opened('/workspace/a'),
    opened([1, null, {}]),
    opened([
      '/workspace/\0',
      '/workspace/\ud800',
      '/workspace/out',
      '/workspace/fifo',
      '/workspace',
      'x',
      '',
    ]),
    opened([`/workspace/${'x'.repeat(10_000)}`]),
    { type: 'libraries', versions: Object.fromEntries(many.map((name) => [name, '1'])) },
    { type: 'libraries', versions: { a: 1 } },
    { type: 'libraries', versions: { long: 'x'.repeat(1000), __proto__: 'x' } },
  ];
  await using room = await openRoom({ sandbox: reporting(plain, ...forged) });
  const workspace = await workspaceOf(room);
  symlinkSync('/etc/passwd', join(workspace, 'out'));
  execFileSync('mkfifo', [join(workspace, 'fifo')]);
  const { execution } = await room.run({ language: 'python', code: 'pass' });
  assert.deepEqual(execution.knownInputs, []);
  assert.equal(execution.inputsMayBeIncomplete, true);
  assert.ok(Object.keys(execution.libraries).length <= 200);
  assert.ok(!('long' in execution.libraries));
});

test('links and FIFOs in the working directory are no inputs, and odd names are kept as they are', async () => {
  await using room = await openRoom();
  const workspace = await workspaceOf(room);
  mkdirSync(join(workspace, 'deep'));
  symlinkSync('/etc/passwd', join(workspace, 'out'));
  symlinkSync('..', join(workspace, 'deep/up'));
  execFileSync('mkfifo', [join(workspace, 'fifo')]);
  const names = ['a\\b', '100%25', 'new\nline', 'ä\u202e', ' '];
  for (const name of names) writeFileSync(join(workspace, name), name);
  const { execution } = await room.run({ workingDir: '/workspace' });
  const hashes = Object.fromEntries(execution.knownInputs.map(({ path, sha256: hash }) => [path, hash]));
  assert.deepEqual(hashes, Object.fromEntries(names.map((name) => [`/workspace/${name}`, sha256(name)])));
});

test('of very many files the newest are named, and the record stays small', async () => {
  await using room = await openRoom();
  const workspace = await workspaceOf(room);
  for (let at = 0; at < 1500; at++) writeFileSync(join(workspace, `${at}-${'é'.repeat(90)}`), '');
  await pause(30);
  writeFileSync(join(workspace, 'newest'), '');
  const { execution } = await room.run({ workingDir: '/workspace' });
  assert.equal(execution.knownInputs[0]!.path, '/workspace/newest');
  assert.ok(execution.knownInputs.length <= 100);
  assert.ok(JSON.stringify(execution.knownInputs).length <= 32 * 1024);
  assert.equal(execution.inputsMayBeIncomplete, true);
  assert.match(execution.inputNotes.join(), /had 1501 files; at most 100 inputs are named/);
  recordProof('B13:known-inputs-that-may-be-incomplete');
});

test('a record that is deleted takes what it made with it', async () => {
  await using room = await openRoom();
  const { execution } = await room.run({ code: 'echo a > a', workingDir: '/workspace' });
  const rows = () => room.database.query('SELECT path FROM made_files');
  assert.deepEqual(
    (await rows()).map(({ path }) => path),
    ['/workspace/a'],
  );
  await room.database.query('DELETE FROM executions WHERE id = ?', execution.id);
  assert.deepEqual(await rows(), []);
});

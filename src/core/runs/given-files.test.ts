import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { WorkcrateError } from '../../platform/errors.ts';
import { sampleExecution } from './execution.testing.ts';
import type { OtherFile } from './executions.ts';
import { plainSandbox } from './plain-sandbox.testing.ts';
import { runRecord } from '../../server/run-record.ts';
import { ada, openRoom, watching, type TestRoom } from './room.testing.ts';

const origin = { crate_id: 'crate_1', path: 'data/a.csv' };

const other = (name: string, text: string, more: Partial<OtherFile> = {}): OtherFile => ({
  name,
  origin,
  size: Buffer.byteLength(text),
  open: () => inPieces(text),
  ...more,
});

/** The memory of a chunk is used again, as that of a source may be. */
async function* inPieces(text: string): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  const piece = Buffer.alloc(3);
  for (let at = 0; at < bytes.length; at += 3) yield piece.subarray(0, bytes.copy(piece, 0, at, at + 3));
}

const stored = async ({ files }: TestRoom, name: string, text: string): Promise<string> =>
  (await files.add(ada, { name, origin: 'test', keepSeconds: 60 }, inPieces(text))).id;

const left = async ({ places }: TestRoom): Promise<string[]> => {
  const { workspace } = await places.of('ada');
  return readdirSync(workspace, { recursive: true, encoding: 'utf8' });
};

const recorded = async ({ executions }: TestRoom) =>
  (await executions.search(ada, { limit: 10 })).executions.length;

test('files from elsewhere stand beside stored ones, and the record has their sha256 and origin', async () => {
  await using room = await openRoom();
  const id = await stored(room, 'stored.txt', 'kept ');
  const others = [other('a.csv', '1,2,3\n'), other('empty', '')];
  const { execution } = await room.run({ code: 'cat stored.txt a.csv empty', files: [id], others });
  assert.equal(execution.stdout, 'kept 1,2,3\n');
  assert.deepEqual(execution.artifacts.created, []);
  const { inputs } = await room.executions.get(ada, execution.id);
  const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
  assert.deepEqual(inputs, [
    { fileId: id, origin: null, name: 'stored.txt', size: 5, sha256: sha256('kept ') },
    { fileId: null, origin, name: 'a.csv', size: 6, sha256: sha256('1,2,3\n') },
    { fileId: null, origin, name: 'empty', size: 0, sha256: sha256('') },
  ]);
});

const damaged = new WorkcrateError('zip_damaged', 'The CRC does not agree.');
const refusals: Record<string, [OtherFile, string]> = {
  'that turns out to be damaged at its end': [
    other('b', 'abcdef', {
      open: async function* () {
        yield Buffer.from('abcdef');
        throw damaged;
      },
    }),
    'zip_damaged',
  ],
  'that is shorter than it says': [other('b', 'abc', { size: 4 }), 'size_mismatch'],
  'that does not end': [
    other('b', '', {
      size: 10,
      open: async function* () {
        for (;;) yield Buffer.from('abc');
      },
    }),
    'size_mismatch',
  ],
  'with the name of another': [other('a', 'abc'), 'invalid_input'],
  'with the name of a stored one': [other('stored.txt', 'abc'), 'invalid_input'],
  'with a path for a name': [other('../b', 'abc'), 'path_refused'],
  'with no name': [other('', 'abc'), 'path_refused'],
  'with the name of the folder': [other('..', 'abc'), 'path_refused'],
  'that stands there already': [other('there', 'abc'), 'already_exists'],
  'larger than a run may write': [other('b', 'abc', { size: 101 }), 'too_large'],
};

for (const [what, [file, code]] of Object.entries(refusals))
  test(`a file ${what} is refused; none of the others stays, and nothing runs`, async () => {
    await using sandbox = plainSandbox();
    const limits = { ...sandbox.limits, fileBytes: 100 };
    await using room = await openRoom({ sandbox: { ...sandbox, limits } });
    const id = await stored(room, 'stored.txt', 'kept');
    const { workspace } = await room.places.of('ada');
    writeFileSync(join(workspace, 'there'), 'mine');
    const others = [other('a', 'abc'), file];
    await assert.rejects(room.run({ files: [id], others, workingDir: '/workspace' }), { code });
    assert.deepEqual(await left(room), ['there']);
    assert.equal(await recorded(room), 0);
  });

test('the same input twice in one folder is no error, and is recorded both times', async () => {
  await using room = await openRoom();
  const id = await stored(room, 'stored.txt', 'kept');
  const asked = { files: [id], others: [other('a', 'abc')], workingDir: '/workspace' };
  await room.run({ ...asked, code: 'cat stored.txt a' });
  const { execution } = await room.run({ ...asked, code: 'cat stored.txt a; rm a' });
  assert.equal(execution.stdout, 'keptabc');
  assert.deepEqual(
    execution.inputs.map(({ name, size }) => [name, size]),
    [
      ['stored.txt', 4],
      ['a', 3],
    ],
  );
  assert.deepEqual(execution.artifacts.created, []);
});

test('a copy that a run in its own folder left unchanged goes with the run; a changed one stays', async () => {
  await using room = await openRoom();
  const ids = await Promise.all(
    ['a', 'b', 'c', 'd', 'e'].map((name) => stored(room, name, `bytes of ${name}`)),
  );
  const asked = { files: ids, others: [other('elsewhere', 'abc')] };
  const code = 'cat a; echo more >> b; chmod 600 c; mv d moved; rm e; ln a hard; echo new > made';
  const { execution } = await room.run({ ...asked, code });
  assert.equal(execution.stdout, 'bytes of a');
  const { id, artifacts } = execution;
  // `elsewhere` is nowhere else on this server.
  const expected = ['b', 'elsewhere', 'hard', 'made', 'moved'].map((name) => `${id}/${name}`);
  assert.deepEqual((await left(room)).sort(), [id, ...expected]);
  assert.deepEqual(artifacts.created, ['hard', 'made', 'moved']);
  assert.deepEqual([artifacts.modified, artifacts.deleted], [['b'], ['d', 'e']]);
  assert.equal(execution.inputs.length, 6);
});

test('ten runs of one file leave no copy behind, whether they end well or not', async () => {
  await using room = await openRoom();
  const id = await stored(room, 'large.bin', 'x'.repeat(100_000));
  for (const code of ['cat large.bin | wc -c', 'exit 3', 'kill -9 $$']) await room.run({ code, files: [id] });
  assert.deepEqual(await left(room), []);
  for (let at = 0; at < 2; at++) await room.run({ files: [id], workingDir: 'shared' });
  assert.deepEqual((await left(room)).sort(), ['shared', 'shared/large.bin']);
});

test('a write of the same size right after the copy is not lost', async () => {
  await using room = await openRoom();
  const id = await stored(room, 'a', 'old');
  const { execution } = await room.run({ code: 'printf new > a', files: [id] });
  const { workspace } = await room.places.of('ada');
  assert.equal(readFileSync(join(workspace, execution.id, 'a'), 'utf8'), 'new');
});

test('a link, a FIFO or a folder in the place of a copy is left alone', async () => {
  await using room = await openRoom();
  const ids = await Promise.all(['a', 'b', 'c'].map((name) => stored(room, name, name)));
  const code = 'rm a b c; ln -s /etc/hostname a; mkfifo b; mkdir c';
  const { execution } = await room.run({ code, files: ids });
  const names = (await left(room)).filter((name) => name.includes('/')).sort();
  assert.deepEqual(
    names,
    ['a', 'b', 'c'].map((name) => `${execution.id}/${name}`),
  );
});

for (const [what, make] of Object.entries({
  'other bytes of the same size': (path: string) => writeFileSync(path, 'mine'),
  'another size': (path: string) => writeFileSync(path, 'longer'),
  'a folder': (path: string) => mkdirSync(path),
  'a link to the same bytes': (path: string) => {
    writeFileSync(`${path}.target`, 'kept');
    symlinkSync(`${path}.target`, path);
  },
}))
  test(`an input whose name is taken by ${what} is refused with what to do`, async () => {
    await using room = await openRoom();
    const id = await stored(room, 'stored.txt', 'kept');
    const { workspace } = await room.places.of('ada');
    make(join(workspace, 'stored.txt'));
    const before = await left(room);
    await assert.rejects(room.run({ files: [id], workingDir: '/workspace' }), {
      code: 'already_exists',
      message: /delete or rename that file first, or choose another working_dir/,
    });
    assert.deepEqual(await left(room), before);
  });

test('a stored file whose bytes are damaged is given to no run, and the log says so', async () => {
  await using room = await openRoom();
  const id = await stored(room, 'stored.txt', 'kept');
  const good = await stored(room, 'good.txt', 'good');
  const sha256 = createHash('sha256').update('kepT').digest('hex');
  await room.database.query('UPDATE files SET sha256 = ? WHERE id = ?', sha256, id);
  await assert.rejects(room.run({ files: [good, id], workingDir: '/workspace' }), {
    code: 'storage_failed',
    message: /stored bytes of stored\.txt are damaged/,
  });
  assert.deepEqual([await left(room), await recorded(room)], [[], 0]);
  const line = room.log.find(({ event }) => event === 'file.damaged');
  assert.deepEqual([line?.['file_id'], line?.['sha256']], [id, sha256]);
});

test('nothing is copied that the disk has no room for', async () => {
  await using sandbox = plainSandbox();
  const claimed: number[] = [];
  const claimDisk = async (_: unknown, bytes: number): Promise<never> => {
    claimed.push(bytes);
    throw new WorkcrateError('quota_exceeded', 'No.');
  };
  await using room = await openRoom({ sandbox: { ...sandbox, claimDisk } });
  const others = [other('a', 'x'.repeat(5000)), other('b', 'x', { open: () => assert.fail('it was read') })];
  await assert.rejects(room.run({ others }), { code: 'quota_exceeded' });
  assert.deepEqual([await left(room), await recorded(room), claimed], [[], 0, [3 * 4096]]);
});

for (const code of ['quota_exceeded', 'sandbox_busy', 'sandbox_unavailable', 'cancelled'] as const)
  test(`inputs are taken back where the run is not started: ${code}`, async () => {
    await using sandbox = plainSandbox({ refuse: new WorkcrateError(code, 'No.') });
    await using room = await openRoom({ sandbox });
    const { workspace } = await room.places.of('ada');
    writeFileSync(join(workspace, 'there'), 'abc');
    const id = await stored(room, 'stored.txt', 'kept');
    const others = [other('a', 'abc'), other('there', 'abc')];
    for (const workingDir of [null, '/workspace'])
      await assert.rejects(room.run({ files: [id], others, workingDir }), { code });
    assert.deepEqual(
      await left(room).then((names) => names.sort()),
      ['there'],
      'what was there before stays',
    );
  });

test('files together may take no more than a run may have on disk', async () => {
  await using sandbox = plainSandbox();
  await using room = await openRoom({
    sandbox: { ...sandbox, limits: { ...sandbox.limits, diskBytes: 100 } },
  });
  const others = [other('a', 'x'.repeat(60)), other('b', 'x'.repeat(41))];
  await assert.rejects(room.run({ others }), { code: 'too_large', message: /101 bytes together/ });
  assert.deepEqual(await left(room), []);
});

/** Gives a byte and then nothing more, until it is told to stop. */
function endless() {
  const reached = Promise.withResolvers<void>();
  const file = other('slow', '', {
    size: 10,
    open: async function* (signal) {
      yield Buffer.from('a');
      reached.resolve();
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    },
  });
  return { file, reached: reached.promise };
}

test('a caller who cancels, and a server that ends, wait for no source', async () => {
  for (const way of ['caller', 'server'] as const) {
    await using room = await openRoom();
    const { file, reached } = endless();
    const cancel = new AbortController();
    const request = { tool: 't', language: 'bash', code: 'x', stdin: '', timeoutMs: null } as const;
    const asked = { ...request, workingDir: null, files: [], others: [file] };
    const running = room.executions.run(ada, asked, watching(cancel.signal));
    const refused = assert.rejects(running, { code: 'cancelled' });
    await reached;
    if (way === 'caller') cancel.abort();
    else await room.executions[Symbol.asyncDispose]();
    await refused;
    assert.deepEqual([await left(room), await recorded(room)], [[], 0]);
  }
});

test('what a file from elsewhere becomes belongs to the user of the run', { skip: notRoot() }, async () => {
  await using room = await openRoom({ uids: { from: 300_000, to: 300_010 } });
  const { workspace, uid } = await room.places.of('ada');
  await room.run({ others: [other('a', 'abc')], workingDir: '/workspace' });
  assert.equal(statSync(join(workspace, 'a')).uid, uid);
});

test('records of before, without origins and runtimes, are read as they were meant', async () => {
  await using room = await openRoom();
  const file = { fileId: 'file_1', name: 'a', size: 1, sha256: 'ab' };
  const old = sampleExecution(Date.now(), { inputs: [file] as never });
  await runRecord.insertRunning(room.database, old, 'local');
  const { inputs, limits } = await room.executions.get(ada, old.id);
  assert.deepEqual(inputs, [{ ...file, origin: null }]);
  assert.equal(limits.runtime, null);
});

function notRoot(): string | false {
  return process.getuid?.() === 0 ? false : 'only root can give files away';
}

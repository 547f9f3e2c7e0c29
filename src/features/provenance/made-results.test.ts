import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { difference, snapshot } from '../../core/artifacts/changes.ts';
import { findPostgres, NO_POSTGRES } from '../../ports/database/postgres.testing.ts';
import { getResultsFolder } from '../../ports/sandbox/sandbox.ts';
import { collectText } from '../../platform/streams.ts';
import type { Execution } from '../../core/runs/fields.ts';
import type { Changes } from '../../core/runs/difference.ts';
import { maxResultBytes, type ResultFile } from './record.ts';
import { plainSandbox } from '../../core/runs/plain-sandbox.testing.ts';
import { ada, bob, openRoom, type TestRoom } from '../../core/runs/room.testing.ts';

const sha256 = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex');

const signal = new AbortController().signal;

const resultsOf = ({ resultFiles }: Execution): Record<string, ResultFile> =>
  Object.fromEntries(resultFiles!.files.map((file) => [file.path, file]));

async function keptText(room: TestRoom, execution: Execution, path: string): Promise<string | null> {
  const read = await room.provenance.findResult(ada, execution.id, resultsOf(execution)[path]!);
  return read && collectText(read(signal));
}

const keptFolders = async ({ places }: TestRoom): Promise<string[]> => {
  const folder = getResultsFolder(await places.of('ada'));
  return existsSync(folder) ? readdirSync(folder).toSorted() : [];
};

test('each file that a run made or changed is hashed when it ends, and its bytes are kept', async () => {
  await using room = await openRoom();
  const first = await room.run({ code: 'echo one > "$ARTIFACTS/a"; echo w > w; : > empty' });
  const second = await room.run({ code: 'echo two > "$ARTIFACTS/a"; echo b > "$ARTIFACTS/b"' });
  const folder = first.execution.workingDir;
  const results = resultsOf(first.execution);
  assert.deepEqual(Object.keys(results).toSorted(), ['/artifacts/a', `${folder}/empty`, `${folder}/w`]);
  assert.deepEqual(
    [results['/artifacts/a']!.sha256, results[`${folder}/w`]!.sha256, results[`${folder}/empty`]!.sha256],
    [sha256('one\n'), sha256('w\n'), sha256('')],
  );
  const later = resultsOf(second.execution);
  assert.deepEqual([later['/artifacts/a']!.isNew, later['/artifacts/b']!.isNew], [false, true]);
  assert.equal(later['/artifacts/a']!.sha256, sha256('two\n'));
  assert.deepEqual(await room.executions.get(ada, first.execution.id), first.execution);
  assert.equal(await keptText(room, first.execution, '/artifacts/a'), 'one\n');
  assert.equal(await keptText(room, first.execution, `${folder}/empty`), '');
  assert.equal(await keptText(room, second.execution, '/artifacts/a'), 'two\n');
  const mine = await room.places.of('bob');
  assert.ok(!existsSync(getResultsFolder(mine)));
  assert.equal(await room.provenance.findResult(bob, first.execution.id, results['/artifacts/a']!), null);
});

test('a file that a later run writes in place, or deletes, is kept as it was', async () => {
  await using room = await openRoom();
  const large = 3 * 1024 ** 2;
  const make = `head -c ${large} /dev/zero | tr '\\0' a > "$ARTIFACTS/large"; echo small > "$ARTIFACTS/small"`;
  const { execution } = await room.run({ code: make });
  await room.run({
    code: 'printf X | dd of="$ARTIFACTS/large" conv=notrunc 2> /dev/null; rm "$ARTIFACTS/small"',
  });
  const { artifacts } = await room.places.of('ada');
  assert.equal(readFileSync(join(artifacts, 'large'), 'utf8').slice(0, 2), 'Xa');
  assert.equal(await keptText(room, execution, '/artifacts/large'), 'a'.repeat(large));
  assert.equal(await keptText(room, execution, '/artifacts/small'), 'small\n');
});

test('more than a run may keep is hashed and not kept, and the record says why', async () => {
  await using room = await openRoom({ keepBytes: 1000 });
  const { execution } = await room.run({
    code: 'head -c 900 /dev/zero > a; head -c 200 /dev/zero > b; head -c 50 /dev/zero > c; echo s > .hidden',
  });
  const kept = Object.values(resultsOf(execution)).map(({ path, kept, gap }) => [
    path.slice(execution.workingDir.length + 1),
    kept !== null,
    gap,
  ]);
  assert.deepEqual(kept, [
    ['.hidden', false, 'hidden'],
    ['a', true, null],
    ['b', false, 'keep_limit'],
    ['c', true, null],
  ]);
  assert.ok(Object.values(resultsOf(execution)).every((file) => file.sha256 !== null));
  await using none = await openRoom({ keepBytes: 0 });
  const without = await none.run({ code: 'echo x > x; : > empty' });
  assert.deepEqual([without.execution.keptBytes, await keptFolders(none)], [0, []]);
  assert.equal(without.execution.resultFiles!.files.find(({ size }) => size > 0)!.sha256, sha256('x\n'));
});

test('what is beyond 1 GB of a run is not hashed, and is not read either', async () => {
  await using room = await openRoom();
  const { execution } = await room.run({
    code: `truncate -s ${maxResultBytes + 1} big; truncate -s 1T huge; echo small > small`,
  });
  const gaps = Object.values(resultsOf(execution)).map(({ sha256: hash, gap }) => [hash, gap]);
  assert.deepEqual(gaps, [
    [null, 'hash_limit'],
    [null, 'hash_limit'],
    [sha256('small\n'), null],
  ]);
});

test('more than 10,000 files are counted, and those beyond are not hashed', async () => {
  await using room = await openRoom();
  const code = 'for i in $(seq 10050); do echo $i > f$i; done';
  const { execution } = await room.run({ code, timeoutMs: 30_000 });
  const { files, more } = execution.resultFiles!;
  assert.deepEqual([files.length, more], [10_000, 50]);
  assert.ok(files.every((file) => file.sha256 !== null));
  const folder = join(getResultsFolder(await room.places.of('ada')), execution.id);
  assert.equal(readdirSync(folder).length, 1, 'small files share one');
  const [file] = files;
  const read = await room.provenance.findResult(ada, execution.id, file!);
  assert.equal(sha256(await collectText(read!(signal))), file!.sha256);
});

test('a link, a FIFO or other bytes in place of a result are not taken for it', async () => {
  await using plain = plainSandbox();
  let after: (directory: string) => void = () => {};
  // Between the look at the folders and the hashes, something else writes there.
  let looks = 0;
  const changes: Changes = {
    difference,
    async snapshot(directory, below) {
      const taken = await snapshot(directory, below);
      if (directory.endsWith('/artifacts') && ++looks % 2 === 0) after(directory);
      return taken;
    },
  };
  await using room = await openRoom({ sandbox: plain, changes });
  after = (directory) => {
    appendFileSync(join(directory, 'appended'), 'more');
    execFileSync('bash', ['-c', 'ln -sf /etc/passwd link; rm fifo; mkfifo fifo; rm gone'], {
      cwd: directory,
    });
  };
  const { execution } = await room.run({
    code: 'cd "$ARTIFACTS"; for name in appended fifo gone link same; do echo $name > $name; done',
  });
  const gaps = Object.fromEntries(
    execution.resultFiles!.files.map(({ path, sha256: hash, gap }) => [path, hash ?? gap]),
  );
  assert.deepEqual(gaps, {
    '/artifacts/appended': 'changed',
    '/artifacts/fifo': 'unreadable',
    '/artifacts/gone': 'unreadable',
    '/artifacts/link': 'unreadable',
    '/artifacts/same': sha256('same\n'),
  });
});

test('where the folders cannot be compared, nobody says that there are no results', async () => {
  const changes: Changes = {
    difference,
    snapshot: async (directory, below) =>
      looked++ === 0 ? snapshot(directory, below) : Promise.reject(new Error('broken')),
  };
  let looked = 0;
  await using room = await openRoom({ changes });
  const { execution } = await room.run({ code: 'echo x > x' });
  assert.equal(execution.resultFiles, null);
});

test('bytes that cannot be kept cost nobody the hash', async () => {
  await using room = await openRoom();
  const folder = getResultsFolder(await room.places.of('ada'));
  writeFileSync(folder, 'in the way');
  const { execution } = await room.run({ code: 'echo x > x' });
  const [file] = execution.resultFiles!.files;
  assert.deepEqual([file!.sha256, file!.gap, execution.keptBytes], [sha256('x\n'), 'no_room', 0]);
});

const server = await findPostgres();
const backends = {
  SQLite: { skip: false as const, location: async () => ':memory:' },
  PostgreSQL: { skip: server === null && NO_POSTGRES, location: () => server!.url() },
};

for (const [name, { skip, location }] of Object.entries(backends))
  describe(`kept results on ${name}`, { skip }, () => {
    test('a user has a share for kept results: the oldest go first, and the record says so', async () => {
      await using plain = plainSandbox();
      // Of which a tenth is the share: three of these runs fit.
      const limits = { ...plain.limits, diskBytes: 300_000 };
      await using room = await openRoom({ sandbox: { ...plain, limits }, location: await location() });
      const run = async () => (await room.run({ code: 'head -c 1000 /dev/zero > "$ARTIFACTS/x"' })).execution;
      const runs = [await run(), await run(), await run()];
      assert.equal((await keptFolders(room)).length, 3);
      await room.provenance.notePacked(ada, [runs[1]!.id]);
      const isKept = async () =>
        Promise.all(runs.map(async ({ id }) => (await room.executions.get(ada, id)).keptBytes > 0));
      runs.push(await run());
      assert.deepEqual(await isKept(), [true, false, true, true], 'the one in a crate goes first');
      runs.push(await run());
      assert.deepEqual(await isKept(), [false, false, true, true, true], 'and then the oldest');
      assert.equal((await keptFolders(room)).length, 3);
      assert.equal(await keptText(room, runs[0]!, '/artifacts/x'), null);
      const { execution } = await room.run({ code: 'head -c 40000 /dev/zero > "$ARTIFACTS/large"' });
      assert.equal(resultsOf(execution)['/artifacts/large']!.gap, 'keep_limit');
      assert.deepEqual((await isKept()).slice(2), [true, true, true], 'what can never fit drops nothing');
    });

    test('kept bytes go with the record, and what a crash left without a row goes too', async () => {
      let now = Date.UTC(2026, 10, 1);
      await using room = await openRoom({ clock: () => now, location: await location() });
      const { execution } = await room.run({ code: 'echo x > x' });
      const folder = getResultsFolder(await room.places.of('ada'));
      const orphan = join(folder, 'exec_0123456789ab');
      mkdirSync(orphan);
      writeFileSync(join(orphan, '0'), 'left by a crash');
      await room.executions.sweep();
      assert.deepEqual(await keptFolders(room), [execution.id]);
      now += 31 * 86_400_000;
      for (let n = 0; n < 40 && (await keptFolders(room)).length > 0; n++) {
        await room.executions.sweep();
        now += 86_400_000;
      }
      assert.deepEqual(await keptFolders(room), []);
    });

    test('bytes of a run that is still running, on whichever server, are no orphans', async () => {
      await using room = await openRoom({ location: await location() });
      const { execution } = await room.run({ code: 'echo x > x' });
      await room.database.query(
        "UPDATE executions SET reason = 'running', kept_bytes = 0, ended_at = NULL, server = 'other' WHERE id = ?",
        execution.id,
      );
      await room.executions.sweep();
      assert.deepEqual(await keptFolders(room), [execution.id]);
    });
  });

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { ada, type TestRoom } from '../../core/runs/room.testing.ts';
import { getResultsFolder } from '../../ports/sandbox/sandbox.ts';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';
import { judge } from '../crate-validation/validating.testing.ts';
import { graphOf, membersOf, openPacking, ownNotes, quiet } from './packing.testing.ts';
import { formatReplayReport } from './replay.ts';
import { replay } from './replaying.testing.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

const answer = 'results/artifacts/answer.txt';
const write = (text: string): string => `printf '${text}' > "$ARTIFACTS/answer.txt"`;

/** Takes the kept bytes of a run away, as happens where room is needed. */
async function dropKept({ database, places }: TestRoom, id: string): Promise<void> {
  await database.query('UPDATE executions SET kept_bytes = 0 WHERE id = ?', id);
  rmSync(join(getResultsFolder(await places.of('ada')), id), { recursive: true });
}

it('of two runs that write the same name each crate has its own result, packed in any order, and is replayed', async () => {
  await using stage = await openPacking();
  const { execution: first } = await stage.room.run({ code: write('alpha = 0.05') });
  const { execution: second } = await stage.room.run({ code: write('alpha = 0.01') });
  for (const [{ id }, text] of [
    [second, 'alpha = 0.01'],
    [first, 'alpha = 0.05'],
  ] as const) {
    const packed = await stage.pack({ executionIds: [id] });
    const zip = stage.zipOf(packed);
    assert.deepEqual(ownNotes(packed), []);
    assert.equal((await membersOf(zip)).get(answer), text);
    assert.equal((await graphOf(zip)).find(answer)['sha256'], sha256(text));
    const report = await replay(zip);
    assert.equal(report.reproduced, true, formatReplayReport(report));
  }
  recordProof('B12:no-other-bytes-than-the-run-made');
});

it('a result whose kept bytes went is said to be gone, wherever the crate is read, and compared by its hash', async () => {
  await using stage = await openPacking();
  const { execution: first } = await stage.room.run({ code: write('alpha = 0.05') });
  await stage.room.run({ code: write('alpha = 0.01') });
  await dropKept(stage.room, first.id);
  const packed = await stage.pack({ executionIds: [first.id] });
  const zip = stage.zipOf(packed);
  const why = 'not kept any more: the oldest kept results go first, to make room; the file was changed since';
  assert.deepEqual(ownNotes(packed), [
    `Described, but not in the crate: "artifacts/answer.txt" of the run: ${why}.`,
  ]);
  const members = await membersOf(zip);
  assert.ok(![...members.keys()].some((name) => name.includes('answer')), [...members.keys()].join());
  const gone = (await graphOf(zip)).find('#gone-results%2Fartifacts%2Fanswer.txt');
  assert.deepEqual([gone['sha256'], gone['contentSize']], [sha256('alpha = 0.05'), '12']);
  assert.equal(gone['creativeWorkStatus'], `Not in this crate: ${why}`);
  assert.ok(members.get('ro-crate-preview.html')!.includes(`<td>${why}</td>`));

  const report = await replay(zip);
  assert.equal(report.reproduced, true);
  assert.match(formatReplayReport(report), /answer\.txt \(compared by its recorded hash; not in the crate: /);
  const other = await replay(zip, {
    metadata: (text) => text.replaceAll(sha256('alpha = 0.05'), sha256('')),
  });
  assert.match(formatReplayReport(other), /DIFFERS {2}\/artifacts\/answer\.txt[^]*Not reproduced/);

  for (const specification of ['1.1', '1.2', '1.3'] as const) {
    const again = stage.zipOf(await stage.pack({ executionIds: [first.id], specification }));
    const { broken, notes } = await judge({ 'x.zip': again }, null, 'x.zip');
    assert.deepEqual(
      broken.filter(({ level }) => level === 'MUST'),
      [],
    );
    assert.deepEqual(notes, [
      `Described, but not in the crate: "/artifacts/answer.txt". The crate says why: ${JSON.stringify(why)}.`,
    ]);
  }
  recordProof('B12:what-is-gone-is-said');
});

it('a file in the place of a result is packed where it has the recorded bytes, and no others', async () => {
  await using stage = await openPacking({}, { keepBytes: 0 });
  const { execution } = await stage.room.run({ code: write('one') });
  const { artifacts } = await stage.room.places.of('ada');
  const pack = async () => membersOf(stage.zipOf(await stage.pack({ executionIds: [execution.id] })));
  assert.equal((await pack()).get(answer), 'one');
  writeFileSync(join(artifacts, 'answer.txt'), 'two');
  assert.equal((await pack()).get(answer), undefined);
  writeFileSync(join(artifacts, 'answer.txt'), 'one');
  assert.equal((await pack()).get(answer), 'one', 'whoever wrote them');
});

it('kept bytes that were damaged are no result, nor are those that went while they were packed', async () => {
  await using stage = await openPacking();
  const { execution } = await stage.room.run({ code: write('alpha = 0.05') });
  await stage.room.run({ code: write('alpha = 0.01') });
  const folder = join(getResultsFolder(await stage.room.places.of('ada')), execution.id);
  const progress = (): void => writeFileSync(join(folder, '0'), 'alpha = 9.99');
  await assert.rejects(stage.packing.pack(ada, { executionIds: [execution.id] }, { ...quiet(), progress }), {
    code: 'crate_changed',
  });
  assert.equal(stage.target.held.size, 0);
  const packed = await stage.pack({ executionIds: [execution.id] });
  assert.match(ownNotes(packed).join(), /its kept bytes are damaged; the file was changed since/);
  assert.equal((await membersOf(stage.zipOf(packed))).get(answer), undefined);
});

it('records of earlier releases have no hashes, so their files are not claimed to be results', async () => {
  await using stage = await openPacking();
  const { execution } = await stage.room.run({ code: write('one') });
  await stage.room.database.query(
    "UPDATE executions SET result_files = 'null', kept_bytes = 0, kept_since = 0 WHERE id = ?",
    execution.id,
  );
  const packed = await stage.pack({ executionIds: [execution.id] });
  const zip = stage.zipOf(packed);
  assert.equal((await membersOf(zip)).get(answer), undefined);
  const gone = (await graphOf(zip)).find('#gone-results%2Fartifacts%2Fanswer.txt');
  assert.deepEqual([gone['sha256'], gone['contentSize']], [undefined, undefined]);
  assert.match(gone['creativeWorkStatus'] as string, /^Not in this crate: not hashed: /);
  assert.match(ownNotes(packed).join(), /not hashed/);
  const report = await replay(zip);
  assert.equal(report.reproduced, false);
  assert.match(formatReplayReport(report), /unknown {2}\/artifacts\/answer\.txt[^]*Not known whether/);
});

it('what came after the hashing had ended is counted, and said to be not hashed', async () => {
  await using stage = await openPacking();
  const { execution } = await stage.room.run({ code: write('one') });
  const { files } = execution.resultFiles!;
  const cut = { files: [{ ...files[0]!, sha256: null, kept: null, gap: 'hash_limit' }], more: 50 };
  await stage.room.database.query(
    'UPDATE executions SET result_files = ? WHERE id = ?',
    JSON.stringify(cut),
    execution.id,
  );
  const packed = await stage.pack({ executionIds: [execution.id] });
  const zip = stage.zipOf(packed);
  assert.deepEqual(ownNotes(packed), [
    'Described, but not in the crate: "artifacts/answer.txt" of the run: not hashed: of the results of a run, 1 GB are hashed.',
    'The run made or changed 50 more files, which are not hashed and not in the crate.',
  ]);
  const members = await membersOf(zip);
  assert.equal(members.get(answer), undefined);
  assert.match(members.get('ro-crate-preview.html')!, /50 more files, which nobody hashed/);
  const graph = await graphOf(zip);
  assert.equal(graph.find('#results_not_hashed-50')['value'], '50');
  assert.match(
    formatReplayReport(await replay(zip)),
    /50 more files, which nobody hashed: they are not compared/,
  );
  recordProof('B12:not-hashed-is-said');
});

it('an input is packed as the run read it: of what the run before it left, if that is kept, and never as it is now', async () => {
  for (const keepBytes of [50 * 1024 ** 2, 0]) {
    await using stage = await openPacking({}, { keepBytes });
    await stage.room.run({ code: 'printf one > data.txt', workingDir: '/workspace/shared' });
    const { execution } = await stage.room.run({
      code: 'cat data.txt > copy.txt',
      workingDir: '/workspace/shared',
    });
    assert.deepEqual(
      execution.knownInputs.map(({ sha256: hash }) => hash),
      [sha256('one')],
    );
    await stage.room.run({ code: 'printf two > data.txt', workingDir: '/workspace/shared' });
    const packed = await stage.pack({ executionIds: [execution.id] });
    const zip = stage.zipOf(packed);
    const isKept = keepBytes > 0;
    assert.equal((await membersOf(zip)).get('inputs/data.txt'), isKept ? 'one' : undefined);
    if (isKept) assert.equal((await replay(zip)).reproduced, true);
    else
      assert.match(
        ownNotes(packed).join(),
        /"data\.txt" of the run: nobody kept it as the run read it; the file was changed since/,
      );
  }
  recordProof('B12:inputs-by-their-hash');
});

it('what is packed is noted, so that its kept bytes go first; not where some was left out', async () => {
  await using stage = await openPacking();
  const { execution } = await stage.room.run({ code: write('one') });
  const since = async () => (await stage.room.executions.get(ada, execution.id)).keptSince;
  const part = await stage.pack({ executionIds: [execution.id], includeWorkspace: false });
  await stage.packing.notePacked(ada, part);
  assert.ok((await since()) > 0);
  await stage.packing.notePacked(ada, await stage.pack({ executionIds: [execution.id] }));
  assert.equal(await since(), 0);
});

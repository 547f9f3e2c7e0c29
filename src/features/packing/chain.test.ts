import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { it } from 'node:test';
import type { Execution } from '../../core/runs/executions.ts';
import { ada, bob } from '../../core/runs/room.testing.ts';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';
import { readMetadata } from '../crates/metadata/metadata.ts';
import type { GraphEntity } from './entities.ts';
import { graphOf, keep, membersOf, metadataIn, openPacking, ownNotes } from './packing.testing.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

const idsOf = (value: unknown): string[] =>
  [value].flat().flatMap((item) => (item === undefined ? [] : [(item as { '@id': string })['@id']]));

type Stage = Awaited<ReturnType<typeof openPacking>>;

/** Two steps: the first cleans what it is given, the second counts what the first left in /artifacts. */
async function runTwoSteps({ room }: Stage) {
  const raw = await keep(room, 'raw.csv', '3\n\n4\n');
  const clean = { code: 'grep . raw.csv >$ARTIFACTS/clean.csv; echo cleaned', files: [raw.id] };
  const { execution: first } = await room.run(clean);
  const copy = await keep(room, 'clean.csv', '3\n4\n');
  const { execution: second } = await room.run({ code: 'wc -l <clean.csv >count.txt', files: [copy.id] });
  return { first, second, ids: [first.id, second.id] };
}

it("one step's result is the next one's input: the same entity, packed once", async () => {
  await using stage = await openPacking();
  const { first, second, ids } = await runTwoSteps(stage);
  const packed = await stage.pack({ executionIds: ids.toReversed() });
  const zip = stage.zipOf(packed);
  const graph = await graphOf(zip);
  const [one, two] = [graph.find(`#${first.id}`), graph.find(`#${second.id}`)];

  assert.deepEqual(idsOf(graph.find('./')['mentions']), [`#${first.id}`, `#${second.id}`]);
  assert.deepEqual(idsOf(one['object']), ['step-1/inputs/raw.csv']);
  const shared = 'step-1/results/artifacts/clean.csv';
  assert.deepEqual(idsOf(one['result']), [shared, 'step-1/logs/stdout.txt']);
  assert.deepEqual(idsOf(two['object']), [shared]);
  assert.deepEqual(idsOf(two['result']), ['step-2/results/working/count.txt']);
  assert.deepEqual(graph.find(shared)['alternateName'], [
    '/artifacts/clean.csv',
    `/workspace/${second.id}/clean.csv`,
  ]);
  const names = [...(await membersOf(zip)).keys()];
  assert.equal(names.filter((name) => name.endsWith('clean.csv')).length, 1);
  assert.deepEqual(ownNotes(packed), []);
  assert.match(packed.title, /and 1 run after it$/);
  assert.deepEqual(readMetadata(Buffer.from(await metadataIn(zip))).issues, []);
  recordProof('B13:chain-in-one-crate');
});

it('each step has its agent, times, status, instrument and interpreter; what they share is there once', async () => {
  await using stage = await openPacking();
  const { execution: good } = await stage.room.run({ code: 'true' });
  const { execution: bad } = await stage.room.run({ language: 'node', code: 'process.exit(2)' });
  const graph = await graphOf(stage.zipOf(await stage.pack({ executionIds: [good.id, bad.id] })));
  const actions = graph.ofType('CreateAction');
  assert.deepEqual(
    actions.map((action) => [action['actionStatus'], idsOf(action['instrument'])[0]]),
    [
      ['http://schema.org/CompletedActionStatus', 'step-1/code/main.sh'],
      ['http://schema.org/FailedActionStatus', 'step-2/code/main.js'],
    ],
  );
  for (const action of actions)
    for (const key of ['agent', 'startTime', 'endTime', 'additionalProperty']) assert.ok(action[key], key);
  const software = graph.ofType('SoftwareApplication').map(({ name }) => name);
  assert.deepEqual(software, ['bash', 'Workcrate', 'node']);
  assert.equal(new Set(graph.all.map((entity) => entity['@id'])).size, graph.all.length);
});

/** A record with what a room that watches inputs would have added to it. */
async function recordBefore(
  { room }: Stage,
  execution: Execution,
  before: Record<string, string | null>,
  mayBeIncomplete = false,
) {
  const known = Object.entries(before).map(([path, text]) => {
    const hash = text === null ? null : sha256(text);
    return { path, size: text?.length ?? 1, sha256: hash, how: 'found', madeBy: null };
  });
  await room.database.query(
    'UPDATE executions SET known_inputs = ?, inputs_may_be_incomplete = ?, libraries = ? WHERE id = ?',
    JSON.stringify(known),
    mayBeIncomplete ? 1 : 0,
    JSON.stringify({ numpy: '1.24.2' }),
    execution.id,
  );
}

/** Three steps that write to one file, and the crate of them. */
async function packThreeWriters(stage: Stage) {
  const { room } = stage;
  const folder = '/workspace/shared';
  const there = { workingDir: folder };
  const { execution: first } = await room.run({ ...there, code: 'echo 1 >log.txt; echo x >kept.txt' });
  const { execution: second } = await room.run({ ...there, code: 'echo 2 >>log.txt' });
  const { execution: third } = await room.run({ ...there, code: 'echo 3 >>log.txt' });
  for (const run of [first, third]) await recordBefore(stage, run, {}, true);
  await recordBefore(stage, second, { [`${folder}/log.txt`]: '1\n', [`${folder}/kept.txt`]: 'x\n' });
  const packed = await stage.pack({ executionIds: [first.id, second.id, third.id] });
  return { first, second, third, packed, zip: stage.zipOf(packed) };
}

it('what each step wrote to one file is packed as that step left it', async () => {
  await using stage = await openPacking();
  const { first, second, third, packed, zip } = await packThreeWriters(stage);
  const [graph, members] = [await graphOf(zip), await membersOf(zip)];
  const texts = [first, second, third].map(({ id }) =>
    idsOf(graph.find(`#${id}`)['result'])
      .filter((path) => path.endsWith('log.txt'))
      .map((path) => members.get(path)),
  );
  assert.deepEqual(texts, [['1\n'], ['1\n2\n'], ['1\n2\n3\n']]);
  assert.ok(idsOf(graph.find(`#${second.id}`)['object']).includes('step-1/results/working/log.txt'));
  assert.deepEqual(ownNotes(packed), []);
});

it('a result whose bytes nobody kept is described with its hash, also as what a later step found', async () => {
  await using stage = await openPacking({}, { keepBytes: 0 });
  const { first, second, third, packed, zip } = await packThreeWriters(stage);
  const graph = await graphOf(zip);
  const find = (id: string): GraphEntity => graph.find(`#${id}`);

  const [gone, kept] = ['#gone-step-1%2Fresults%2Fworking%2Flog.txt', 'step-1/results/working/kept.txt'];
  assert.deepEqual(idsOf(find(first.id)['result']).sort(), [gone, kept].sort());
  assert.deepEqual(idsOf(find(second.id)['object']).sort(), [gone, kept].sort());
  assert.equal(graph.find(gone)['sha256'], sha256('1\n'));
  assert.equal(graph.find(gone)['@type'], 'CreativeWork');
  const [later] = idsOf(find(second.id)['result']);
  assert.deepEqual([graph.find(later!)['sha256'], later!.startsWith('#gone-')], [sha256('1\n2\n'), true]);
  assert.deepEqual(idsOf(find(third.id)['result']), ['step-3/results/working/log.txt']);
  const why =
    'not kept: the results of the run were larger than what is kept of a run (--keep-results); the file was changed since';
  assert.equal(graph.find(gone)['creativeWorkStatus'], `Not in this crate: ${why}`);
  assert.deepEqual(
    ownNotes(packed),
    ['step 1', 'step 2'].map((step) => `Described, but not in the crate: "log.txt" of ${step}: ${why}.`),
  );
  const note = packed.notes.find((text) => text.startsWith('inputs_may_be_incomplete: '));
  assert.match(note!, /step 1, step 3 may have read/);
  const values = idsOf(find(second.id)['additionalProperty']).map(graph.find);
  assert.ok(!values.some(({ name }) => name === 'inputs_may_be_incomplete'));
  assert.equal(graph.find('#inputs_may_be_incomplete-true')['value'], 'true');
  const numpy = graph.ofType('SoftwareApplication').find(({ name }) => name === 'numpy')!;
  assert.deepEqual([numpy['version'], numpy['@id']], ['1.24.2', 'https://pypi.org/project/numpy/#1.24.2']);
  recordProof('B13:incomplete-inputs-in-crate-and-notes', 'B13:versions-in-crate');
});

it('a run alone has what it found as inputs too, and one that nobody hashed is only described', async () => {
  await using stage = await openPacking();
  const there = { workingDir: '/workspace/shared' };
  await stage.room.run({ ...there, code: 'echo 1 >a.txt; echo 2 >b.txt; echo 3 >$ARTIFACTS/c.txt' });
  const { execution } = await stage.room.run({ ...there, code: 'cat a.txt' });
  const folder = '/workspace/shared';
  await recordBefore(stage, execution, {
    [`${folder}/a.txt`]: '1\n',
    [`${folder}/b.txt`]: null,
    '/artifacts/c.txt': '3\n',
  });
  const packed = await stage.pack({ executionIds: [execution.id] });
  const graph = await graphOf(stage.zipOf(packed));
  assert.deepEqual(idsOf(graph.find(`#${execution.id}`)['object']), [
    'inputs/a.txt',
    '#gone-inputs%2Fb.txt',
    'inputs/artifacts/c.txt',
  ]);
  assert.equal(graph.find('inputs/a.txt')['alternateName'], 'a.txt');
  assert.equal(graph.find('inputs/artifacts/c.txt')['alternateName'], '/artifacts/c.txt');
  assert.deepEqual(packed.notes, [
    'Described, but not in the crate: "b.txt" of the run: not hashed: it changed, or took too long, while the run started.',
  ]);
});

it('runs of somebody else, unknown, twice, too many or under way are refused, and nothing is written', async () => {
  await using stage = await openPacking();
  const { execution: mine } = await stage.room.run({ code: 'true' });
  const { execution: theirs } = await stage.room.run({ code: 'true' }, bob);
  const many = Array.from({ length: 201 }, (_, at) => `exec_${String(at).padStart(12, '0')}`);
  const refused: [ids: string[], code: string, message: RegExp][] = [
    [[mine.id, theirs.id], 'not_found', /./],
    [[mine.id, 'exec_000000000000'], 'not_found', /./],
    [[mine.id, mine.id], 'invalid_input', /named twice/],
    [many, 'invalid_input', /at most 200 runs, and these are 201/],
  ];
  for (const [executionIds, code, message] of refused)
    await assert.rejects(stage.pack({ executionIds }, ada), { code, message });
  assert.equal(stage.target.held.size, 0);
});

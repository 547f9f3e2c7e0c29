import assert from 'node:assert/strict';
import { it } from 'node:test';
import { isWorkcrateError } from '../../platform/errors.ts';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';
import { keep, openPacking } from './packing.testing.ts';
import { formatReplayReport, toReplayJson } from './replay.ts';
import { replay } from './replaying.testing.ts';

const inFolder = { workingDir: '/workspace/analysis' };

/** Each step works on what the one before it left; the code of the second may be another. */
async function packSteps(second: string): Promise<Buffer> {
  await using stage = await openPacking();
  const { room } = stage;
  const raw = await keep(room, 'raw.csv', '3\n\n4\n');
  const ids: string[] = [];
  const run = async (code: string, more = {}) =>
    ids.push((await room.run({ ...inFolder, ...more, code })).execution.id);
  await run('grep . raw.csv >clean.csv; echo 1 >log.txt', { files: [raw.id] });
  await run(second);
  const copy = await keep(room, 'sum.txt', '7\n');
  await run('cp sum.txt $ARTIFACTS/final.txt; cat sum.txt', { workingDir: null, files: [copy.id] });
  return stage.zipOf(await stage.pack({ executionIds: ids }));
}

const steady = "awk '{ s += $1 } END { print s }' clean.csv >sum.txt; echo 2 >>log.txt; echo summed";

it('a chain is run in its order, each step on what the one before it made, and every step is compared', async () => {
  const report = await replay(await packSteps(steady));
  assert.equal(report.steps.length, 3);
  const [clean, log] = report.steps[0]!.results;
  assert.deepEqual([clean!.name, clean!.state, log!.name], ['clean.csv', 'same', 'log.txt']);
  // The second step has changed it, so that only its hash can be in the crate.
  assert.notEqual(log!.found, null);
  assert.deepEqual(
    report.steps
      .slice(1)
      .map(({ results, stdout }) => [results.map(({ name, state }) => [name, state]), stdout]),
    [
      [
        [
          ['sum.txt', 'same'],
          ['log.txt', 'same'],
        ],
        'same',
      ],
      [[['/artifacts/final.txt', 'same']], 'same'],
    ],
  );
  assert.deepEqual(
    report.steps.flatMap(({ inputs }) => inputs),
    [],
  );
  const [first] = toReplayJson(report)['steps'] as Record<string, unknown>[];
  assert.deepEqual(first!['results'], report.steps[0]!.results);
  recordProof('B13:chain-replayed');
});

it('a step that does other things is named, and the next works on what it made now', async () => {
  const zip = await packSteps(`[[ $WORKSPACE == *replay* ]] && echo 8 >sum.txt || ${steady}`);
  const report = await replay(zip);
  assert.equal(report.reproduced, false);
  const [, second, third] = report.steps;
  assert.deepEqual([second!.reproduced, third!.reproduced], [false, false]);
  assert.deepEqual(
    third!.inputs.map(({ name, state }) => [name.replace(/exec_\w+/, 'own'), state]),
    [['/workspace/own/sum.txt', 'differs']],
  );
  const told = formatReplayReport(report);
  assert.match(
    told,
    /^Step 1 of 3$[^]*^Step 2 of 3$[^]*DIFFERS {2}sum\.txt \(its content differs\)\n[^]*sum\.txt \(input\)\n/m,
  );
  assert.match(told, /first that differs\.\n$/);
});

it('an input that a step should have made is taken from the crate, if it made none', async () => {
  const report = await replay(await packSteps(`[[ $WORKSPACE == *replay* ]] && exit 1 || { ${steady}; }`));
  const [, second, third] = report.steps;
  assert.deepEqual([second!.ended, third!.ended, third!.inputs], ['failed', 'completed', []]);
  assert.equal(third!.reproduced, true);
});

it('a working folder that leads outside is refused', async () => {
  const zip = await packSteps(steady);
  const metadata = (text: string): string =>
    text.replaceAll('"value": "/workspace/analysis"', '"value": "/workspace/../../etc"');
  await assert.rejects(replay(zip, { metadata }), (error) => isWorkcrateError(error, 'path_refused'));
});

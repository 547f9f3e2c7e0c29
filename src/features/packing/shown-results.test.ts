import assert from 'node:assert/strict';
import { it } from 'node:test';
import { plainSandbox } from '../../core/runs/plain-sandbox.testing.ts';
import type { Report } from '../../ports/sandbox/sandbox.ts';
import { graphOf, membersOf, openPacking, ownNotes } from './packing.testing.ts';
import { ada } from '../../core/runs/room.testing.ts';
import { formatReplayReport } from './replay.ts';
import { replay } from './replaying.testing.ts';

const picture = (mark: string): Buffer =>
  Buffer.concat([Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]), Buffer.from(mark)]);

/** A sandbox whose runs show a value and two figures. */
function showing(second: string) {
  const show = (kind: string, text: string, payload: Buffer): Report => {
    const parts = payload.length === 0 ? [] : [{ mime: 'image/png', size: payload.length, name: '../x' }];
    return { header: { type: 'result', cell: 0, kind, text, parts }, payload };
  };
  return plainSandbox({
    async *reports() {
      yield show('value', '<b>42</b>', Buffer.alloc(0));
      yield show('figure', 'a figure', picture('one'));
      yield show('figure', 'a figure', picture(second));
    },
  });
}

it('figures are results of their run, shown on the page, and compared again', async () => {
  await using sandbox = showing('two');
  await using stage = await openPacking({}, { sandbox });
  const { execution } = await stage.room.run({ code: 'true' });
  const packed = await stage.pack({ executionIds: [execution.id] });
  const zip = stage.zipOf(packed);
  const graph = await graphOf(zip);
  const paths = ['results/shown/figure-1.png', 'results/shown/figure-2.png'];
  assert.deepEqual(
    graph.find(`#${execution.id}`)['result'],
    paths.map((path) => ({ '@id': path })),
  );
  const page = (await membersOf(zip)).get('ro-crate-preview.html')!;
  for (const path of paths) assert.ok(page.includes(`<img src="./${path}"`), path);
  assert.match(page, /<samp>&lt;b&gt;42&lt;\/b&gt;<\/samp>/);

  const same = await replay(zip, { sandbox: showing('two') });
  assert.deepEqual([same.reproduced, same.steps[0]!.results[1]!.name], [true, 'figure-2.png']);
  const other = await replay(zip, { sandbox: showing('2') });
  assert.deepEqual(
    other.steps[0]!.results.map(({ state }) => state),
    ['same', 'differs'],
  );
});

it('a figure whose file is gone is described with its hash, and compared by it', async () => {
  await using sandbox = showing('two');
  await using stage = await openPacking({}, { sandbox });
  const { execution } = await stage.room.run({ code: 'true' });
  await stage.room.files.remove(ada, execution.results[1]!.parts[0]!.fileId!);
  const packed = await stage.pack({ executionIds: [execution.id] });
  assert.deepEqual(ownNotes(packed), [
    'Described, but not in the crate: "figure-1.png" of the run: its stored file is gone.',
  ]);
  const zip = stage.zipOf(packed);
  const same = await replay(zip, { sandbox: showing('two') });
  assert.equal(same.reproduced, true);
  const missing = same.steps[0]!.results.map((result) => [result.state, result.missing ?? 'is there']);
  assert.ok(missing.every(([state]) => state === 'same'));
  assert.deepEqual(missing.map(([, why]) => why).join(), 'its stored file is gone,is there');
  assert.match(formatReplayReport(same), /figure-1\.png \(compared by its recorded hash; not in the crate/);
});

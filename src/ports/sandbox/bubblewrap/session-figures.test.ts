import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { startInside, type InsideSession } from './session.testing.ts';

const missing = ['matplotlib', 'pandas'].filter(
  (name) => spawnSync('/usr/bin/python3', ['-c', `import ${name}`]).status !== 0,
);
const skip = missing.length > 0 && `needs ${missing.join(' and ')} (python3-${missing.join(', python3-')})`;

describe('figures and tables, seen from inside', { skip }, () => {
  let session: InsideSession;
  before(async () => {
    session = await startInside('python');
  });
  after(() => session?.[Symbol.asyncDispose]());

  it('every open figure is shown once, as PNG, at show() or at the end of the cell', async () => {
    const { results, reports, all } = await session.send(`
import matplotlib.pyplot as plt
plt.plot([1, 2]); plt.title('first'); plt.show()
figure, axes = plt.subplots(1, 2)
figure.suptitle('second')
plt.figure()
figure`);
    assert.deepEqual(
      results.map(({ kind, text }) => [kind, text]),
      [
        ['figure', "figure of 640 x 480 pixels with 1 axes: 'first'"],
        ['figure', "figure of 640 x 480 pixels with 2 axes: 'second'"],
        ['figure', 'figure of 640 x 480 pixels with 0 axes'],
      ],
    );
    const [first] = reports;
    assert.equal(Buffer.from(first!.payload.subarray(1, 4)).toString(), 'PNG');
    const [part] = results[0]!['parts'] as { mime: string; size: number; name: string }[];
    assert.deepEqual(part, { mime: 'image/png', size: first!.payload.length, name: 'figure-1.png' });
    const libraries = all.find(({ type }) => type === 'libraries')!['versions'] as Record<string, string>;
    assert.match(`${libraries['matplotlib']} ${libraries['numpy']}`, /^\d+\.\d+.* \d+\.\d+/);
    assert.equal((await session.send('plt.get_fignums()')).results[0]!['text'], '[]');
  });

  it('figures of another backend, and of a cell that fails, are shown too; closed ones are not', async () => {
    const { results, last } = await session.send(
      "import matplotlib\nmatplotlib.use('Agg')\nplt.figure(); plt.close()\nplt.plot([3, 1])\n1 / 0",
    );
    assert.deepEqual([results.length, results[0]!['kind'], last['status']], [1, 'figure', 'error']);
  });

  it('of 1,000 figures 16 are shown, and few are open at a time', async () => {
    const { results, all } = await session.send(
      `import warnings; warnings.simplefilter('ignore')
plt.switch_backend('module://workcrate_inside.figures')
most = 0
for i in range(1000):
    plt.figure(figsize=(1, 1)); most = max(most, len(plt.get_fignums()))`,
    );
    assert.equal(results.length, 16);
    assert.equal(all.find(({ type }) => type === 'more')!['results'], 984);
    assert.equal(await session.value('most <= 101'), 'True');
  });

  it('a figure of absurd size is drawn smaller, and one that cannot be drawn is told', async () => {
    const { results } = await session.send(
      "plt.figure(figsize=(500, 1)); plt.show()\nplt.figure(); plt.title('$\\\\broken{$')",
    );
    const figures = results.filter(({ kind }) => kind === 'figure');
    assert.equal((figures[0]!['parts'] as unknown[]).length, 1);
    assert.match(String(figures[1]!['text']), /^a figure that cannot be drawn: ValueError/);
  });

  it('a DataFrame is a short table with its size, and an array is short', async () => {
    const { results } = await session.send(
      'import numpy as np, pandas as pd\ntable = pd.DataFrame({"a": range(1000), "b": "x" * 300})\ndisplay(table.a, np.zeros((100, 100)))\ntable',
    );
    const [series, array, table] = results;
    assert.deepEqual(
      [series!['rows'], 'columns' in series!, table!['rows'], table!['columns']],
      [1000, false, 1000, 2],
    );
    assert.match(String(array!['text']), /\.\.\.[^]*shape \(100, 100\), float64$/);
    assert.match(String(table!['text']), /\[1000 rows x 2 columns\]$/);
    assert.ok(String(table!['text']).split('\n').length <= 25);
    assert.deepEqual(
      (table!['parts'] as { mime: string }[]).map(({ mime }) => mime),
      ['text/html'],
    );
  });
});

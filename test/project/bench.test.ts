import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import {
  describeMachine,
  figuresVariable,
  findWorse,
  readFigures,
  reportFigure,
  toRounds,
  type Figure,
  type KeptRun,
} from '../../bench/figures.ts';

const checkout = join(import.meta.dirname, '../..');
const machine = describeMachine();

const toRun = (commit: string, figures: Record<string, Figure>, on = machine): KeptRun => ({
  at: '2026-01-01T00:00:00.000Z',
  commit,
  machine: on,
  load: 0,
  figures,
});
const toFigure = (value: number, spread: number, better: Figure['better'] = 'less'): Figure => ({
  value,
  from: value - spread / 2,
  to: value + spread / 2,
  better,
});

describe('benches that remember', () => {
  const name = 'a run, ms';
  const kept = [toRun('older', { [name]: toFigure(5, 1) }), toRun('newer', { [name]: toFigure(10, 2) })];

  it('what lies within its spread is not worse, what lies beyond it is, against the last run that was kept', () => {
    assert.deepEqual(findWorse(kept, toRun('now', { [name]: toFigure(11.9, 1) })), []);
    assert.deepEqual(findWorse(kept, toRun('now', { [name]: toFigure(13, 4) })), []);
    const [worse] = findWorse(kept, toRun('now', { [name]: toFigure(13, 1) }));
    assert.equal(worse?.since, 'newer');
    assert.deepEqual(findWorse(kept, toRun('now', { [name]: toFigure(1, 1) })), []);
  });

  it('where more is better, less is worse', () => {
    const before = [toRun('before', { rate: toFigure(10, 1, 'more') })];
    assert.equal(findWorse(before, toRun('now', { rate: toFigure(8, 1, 'more') })).length, 1);
    assert.equal(findWorse(before, toRun('now', { rate: toFigure(12, 1, 'more') })).length, 0);
  });

  it('another kind of machine and a figure that was never kept are compared with nothing', () => {
    const elsewhere = { ...machine, processor: 'another' };
    assert.deepEqual(findWorse(kept, toRun('now', { [name]: toFigure(99, 1) }, elsewhere)), []);
    assert.deepEqual(findWorse(kept, toRun('now', { other: toFigure(99, 1) })), []);
  });

  it('a figure is the median of its rounds, with the least and the most of them', () => {
    const folder = mkdtempSync(join(tmpdir(), 'workcrate-figures-'));
    const path = join(folder, 'figures');
    try {
      process.env[figuresVariable] = path;
      reportFigure('x', [3, 1, 2]);
      reportFigure('y', toRounds([1, 1, 1, 9, 9, 9], 2), 'more', 5);
      assert.deepEqual(readFigures(path), {
        x: { value: 2, from: 1, to: 3, better: 'less' },
        y: { value: 5, from: 1, to: 9, better: 'more' },
      });
    } finally {
      delete process.env[figuresVariable];
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('names its benches, and each is there; one that is unknown is refused', () => {
    const { status, stderr } = runBenches('--help');
    assert.equal(status, 0);
    const names = /of: (.*)$/m.exec(stderr)![1]!.split(', ');
    for (const bench of names) assert.ok(existsSync(join(checkout, 'bench', `${bench}.ts`)), bench);
    const unknown = runBenches('no-such-bench');
    assert.equal(unknown.status, 2);
    assert.match(unknown.stderr, /There is no bench no-such-bench/);
  });

  it('a bench whose programs are missing is left out, with the command that installs them', () => {
    const { status, stdout, stderr } = runBenches('--no-keep', 'documents');
    assert.equal(status, 1);
    assert.match(stdout, /left out: it needs pandoc.* \(Debian: apt-get install pandoc/);
    assert.equal(stderr, '');
  });
});

/** With nothing on its PATH, so that what is installed here makes no difference. */
function runBenches(...words: string[]) {
  return spawnSync(process.execPath, [join(checkout, 'bench/run.ts'), ...words], {
    encoding: 'utf8',
    env: { PATH: '/nonexistent' },
  });
}

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { noSandbox } from '../test/code.testing.ts';
import { findMissingScience } from '../src/ports/sandbox/science.testing.ts';

it('1 GiB goes in and out through an MCP client with less than 1 KB of tool text', () => {
  const script = join(import.meta.dirname, 'round-trip.ts');
  const result = spawnSync(process.execPath, [script], { encoding: 'utf8' });
  assert.equal(result.status, 0, result.stderr);
  assert.match(
    result.stdout,
    /^1073741824 bytes in .* equal sha256 [0-9a-f]{64}\nthe model read \d{1,3} bytes/,
  );
});

it('a plot that Python has drawn is fetched by its link', { skip: noSandbox }, () => {
  const script = join(import.meta.dirname, 'plot.ts');
  const result = spawnSync(process.execPath, [script], { encoding: 'utf8' });
  assert.equal(result.status, 0, result.stderr);
  const told =
    /^exec_[0-9a-f]{12} took \d+ ms; the plot is (.*)\/oscillation\.svg, sha256 [0-9a-f]{64}\n$/.exec(
      result.stdout,
    );
  assert.ok(told, result.stdout);
  rmSync(told[1]!, { recursive: true });
});

it('a run is packed, found by its author after a restart, and replayed', { skip: noSandbox }, () => {
  const script = join(import.meta.dirname, 'crate.ts');
  const result = spawnSync(process.execPath, [script], { encoding: 'utf8' });
  assert.equal(result.status, 0, result.stderr);
  assert.match(result.stdout, /^crate_[0-9a-f]{24} is found by its author[^]*temperatures\.svg: same\n$/);
});

it('a paper is built from a plot and a .bib, and fetched by its links', { skip: noSandbox }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'workcrate-paper-test-'));
  try {
    const script = join(import.meta.dirname, 'paper.ts');
    const result = spawnSync(process.execPath, [script, folder], { encoding: 'utf8' });
    assert.equal(result.status, 0, result.stderr);
    assert.match(result.stdout, /^pdf: .*\ndocx: .*\nhtml: .*\n$/);
    assert.equal(readFileSync(join(folder, 'pendulum.pdf')).subarray(0, 5).toString(), '%PDF-');
    assert.match(readFileSync(join(folder, 'pendulum.html'), 'utf8'), /Horologium oscillatorium/i);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

const noAnalysis = noSandbox || findMissingScience();

it(
  'an analysis fails, goes back, plots, is packed, and replayed after a restart',
  { skip: noAnalysis },
  () => {
    const script = join(import.meta.dirname, 'analysis.ts');
    const result = spawnSync(process.execPath, [script], { encoding: 'utf8' });
    assert.equal(result.status, 0, result.stderr);
    assert.match(
      result.stdout,
      /^exec_\w+-figure-1\.png[^]*weather\.ipynb[^]*the same results\ncrate_\w+: replayed from its crate, with the same results\n$/,
    );
  },
);

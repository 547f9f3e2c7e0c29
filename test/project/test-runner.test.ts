import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { describeMisses, parseTestArguments, usage } from '../../scripts/test-arguments.ts';
import { findNeeds } from '../../scripts/test-needs.ts';
import { findPart } from '../../scripts/test-parts.ts';
import {
  describeResults,
  readResults,
  recordVariable,
  sumResults,
  writeResults,
} from '../../scripts/test-results.ts';
import { temporaryFolder } from '../behaviour/cli/program.testing.ts';

const root = join(import.meta.dirname, '../..');
const every = globSync('{src,packages,test,examples}/**/*.test.ts', { cwd: root });

describe('the parts of the suite', () => {
  it('what is usual starts no server of others and needs no large package', () => {
    const usual = every.filter((file) => findPart(file) === 'usual');
    const { commands, sandbox, ...servers } = findNeeds(usual);
    assert.deepEqual(Object.values(servers).filter(Boolean), []);
    assert.ok(sandbox);
    assert.deepEqual(commands.toSorted(), ['bwrap', 'mount', 'pip', 'python3', 'setpriv', 'unshare']);
    assert.ok(usual.length > 300, `${usual.length}`);
  });

  it('without options the usual part runs; words choose from all parts; options name parts', () => {
    assert.deepEqual(parseTestArguments([]).parts, ['usual']);
    assert.deepEqual(parseTestArguments(['links']).parts, ['usual', 'rest', 'long']);
    assert.deepEqual(parseTestArguments(['--all']).parts, ['usual', 'rest']);
    assert.deepEqual(parseTestArguments(['--rest', 'links']).parts, ['rest']);
    assert.equal(parseTestArguments(['--quick']).quick, true);
    assert.throws(() => parseTestArguments(['--fast']), /--fast/);
  });

  it('every script of package.json that runs tests is in the help', () => {
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>;
    };
    const running = Object.keys(scripts).filter((name) => scripts[name]!.startsWith('node scripts/test.ts'));
    assert.ok(running.length >= 5);
    for (const name of running)
      assert.match(usage, new RegExp(`^  npm ${name === 'test' ? '' : 'run '}${name} `, 'm'));
  });

  it('a word that fits nothing is told, with the one that was probably meant', () => {
    const files = ['src/core/links/lease.test.ts', 'test/behaviour/backends/upload.test.ts'];
    assert.deepEqual(describeMisses(['links', 'upload.test'], files), []);
    assert.deepEqual(describeMisses(['behavior', 'zzzzzz'], files), [
      'No test file has "behavior" in its path. Did you mean behaviour?',
      'No test file has "zzzzzz" in its path.',
    ]);
    const run = spawnSync(process.execPath, [join(root, 'scripts/test.ts'), 'nosuchroom'], { cwd: root });
    assert.equal(run.status, 2);
    assert.match(run.stdout.toString(), /"nosuchroom"/);
  });
});

describe('the results of both parts together', () => {
  const good = { passed: 5, failed: 0, skipped: 1, failures: [] };
  const bad = { passed: 7, failed: 2, skipped: 0, failures: ['  x.test.ts: one', '  y.test.ts: two'] };
  const total = (folder: string): { status: number | null; stdout: string } =>
    spawnSync(process.execPath, [join(root, 'scripts/test-total.ts')], {
      env: { ...process.env, [recordVariable]: folder },
      encoding: 'utf8',
    });

  it('are summed, and the last line is theirs alone', async () => {
    await using folder = await temporaryFolder();
    writeResults(folder.path, 'usual', good);
    writeResults(folder.path, 'rest', good);
    assert.deepEqual(readResults(folder.path, 'usual'), good);
    const { status, stdout } = total(folder.path);
    assert.deepEqual([status, stdout.split('\n').at(-2)], [0, '10 passed, 0 failed, 2 skipped']);
  });

  it('name what failed in either, and end with 1', async () => {
    await using folder = await temporaryFolder();
    writeResults(folder.path, 'usual', bad);
    writeResults(folder.path, 'rest', good);
    const { status, stdout } = total(folder.path);
    assert.equal(status, 1);
    assert.match(
      stdout,
      /failed:\n  x\.test\.ts: one\n  y\.test\.ts: two\n\n12 passed, 2 failed, 1 skipped\n$/,
    );
  });

  it('a part that did not come to its end is a failure', async () => {
    await using folder = await temporaryFolder();
    writeResults(folder.path, 'usual', good);
    const sum = sumResults(folder.path);
    assert.equal(sum.failed, 1);
    assert.match(describeResults(sum), /the rest part did not come to its end/);
    assert.equal(total(folder.path).status, 1);
  });
});

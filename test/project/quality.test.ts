import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';

const root = join(import.meta.dirname, '../..');
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>;
};

/** The checks of `npm run check` that are not tests, so that `npm test` alone keeps the tree as it should be. */
for (const name of ['format:check', 'types', 'lint', 'dead'])
  it(`\`${scripts[name]}\` finds nothing`, () => {
    const result = spawnSync('npm', ['run', '--silent', name], { cwd: root, encoding: 'utf8' });
    assert.equal(result.status, 0, result.stdout + result.stderr);
  });

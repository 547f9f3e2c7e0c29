import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openBelow, parsePath } from './paths.ts';
import { allFootings, playground, refusedAs, textOf } from './playground.testing.ts';

for (const footing of allFootings)
  test(`what is hidden is not reached by its name nor through a link, by ${footing}`, () => {
    using play = playground();
    writeFileSync(join(play.root, '.env'), 'key');
    mkdirSync(join(play.root, '.git'));
    writeFileSync(join(play.root, '.git/config'), 'key');
    symlinkSync('.env', join(play.root, 'env.txt'));
    symlinkSync('.git', join(play.root, 'plain'));
    symlinkSync('folder/../file', join(play.root, 'fine'));
    const root = openBelow(play.root, { walkMethod: footing, links: 'within', hidden: 'refuse' });
    for (const path of ['.env', '.git/config', 'env.txt', 'plain/config'])
      assert.throws(() => root.open(parsePath(path)), refusedAs('hidden'), path);
    assert.equal(textOf(root.open(parsePath('fine'))), 'inside');
    assert.equal(textOf(openBelow(play.root, { walkMethod: footing }).open(parsePath('.env'))), 'key');
  });

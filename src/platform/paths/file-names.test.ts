import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { linkSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openBelow, rootPath, parsePath } from './paths.ts';
import { allFootings, openDescriptors, playground, refusedAs } from './playground.testing.ts';

for (const footing of allFootings) {
  test(`the names of regular files are given, with a step for everything else (${footing})`, () => {
    using play = playground();
    symlinkSync('file', join(play.root, 'link'));
    linkSync(join(play.root, 'file'), join(play.root, 'second'));
    execFileSync('mkfifo', [join(play.root, 'fifo')]);
    writeFileSync(Buffer.concat([Buffer.from(`${play.root}/`), Buffer.of(0xff)]), '');
    const names: (string | null)[] = [];
    const steps = openBelow(play.root, { walkMethod: footing }).fileNames(rootPath);
    let next = steps.next();
    for (; !next.done; next = steps.next()) names.push(next.value);
    assert.deepEqual(next.value, { unreadable: 1 });
    assert.deepEqual(names.filter((name) => name !== null).sort(), ['file', 'second']);
    // folder, link, fifo and the one that is not UTF-8
    assert.equal(names.filter((name) => name === null).length, 4);
  });

  test(`what is no folder has no names, and no descriptor stays (${footing})`, () => {
    using play = playground();
    const before = openDescriptors();
    symlinkSync('folder', join(play.root, 'in'));
    const root = openBelow(play.root, { walkMethod: footing });
    assert.throws(() => root.fileNames(parsePath('file')).next(), refusedAs('not_folder'));
    assert.throws(() => root.fileNames(parsePath('in')).next(), refusedAs('link'));
    assert.throws(() => root.fileNames(parsePath('missing')).next(), { code: 'path_not_found' });
    for (const _name of root.fileNames(rootPath)) break;
    assert.equal(openDescriptors(), before);
  });
}

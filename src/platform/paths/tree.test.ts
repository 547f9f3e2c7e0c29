import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openBelow, rootPath, parsePath, type TreeEnd, type TreeEntry } from './paths.ts';
import { allFootings, openDescriptors, playground, refusedAs } from './playground.testing.ts';

const wide = { mostEntries: 1000, mostDepth: 10 };
const whole: TreeEnd = { cut: false, unreadable: 0, unentered: 0 };

function walked(steps: Generator<TreeEntry, TreeEnd>): { paths: string[]; end: TreeEnd } {
  const paths: string[] = [];
  for (let next = steps.next(); ; next = steps.next()) {
    if (next.done) return { paths: paths.sort(), end: next.value };
    if (next.value.path !== null) paths.push(next.value.path);
  }
}

for (const footing of allFootings) {
  test(`a tree gives all that stands below, links as links, and follows none (${footing})`, () => {
    using play = playground();
    symlinkSync('../outside', join(play.root, 'out'));
    symlinkSync('.', join(play.root, 'folder', 'loop'));
    execFileSync('mkfifo', [join(play.root, 'fifo')]);
    for (const links of ['refuse', 'within'] as const) {
      const { paths, end } = walked(
        openBelow(play.root, { walkMethod: footing, links }).tree(rootPath, wide),
      );
      assert.deepEqual(paths, ['fifo', 'file', 'folder', 'folder/file', 'folder/loop', 'out']);
      assert.deepEqual(end, whole);
    }
  });

  test(`a tree begins at a folder, and at nothing else (${footing})`, () => {
    using play = playground();
    symlinkSync('folder', join(play.root, 'in'));
    const root = openBelow(play.root, { walkMethod: footing });
    assert.deepEqual(walked(root.tree(parsePath('folder'), wide)).paths, ['file']);
    assert.throws(() => root.tree(parsePath('file'), wide).next(), refusedAs('not_folder'));
    assert.throws(() => root.tree(parsePath('in'), wide).next(), refusedAs('link'));
    assert.throws(() => root.tree(parsePath('missing'), wide).next(), { code: 'path_not_found' });
  });

  test(`a tree keeps to its bounds, and tells what it left out (${footing})`, () => {
    using play = playground();
    const root = openBelow(play.root, { walkMethod: footing });
    writeFileSync(Buffer.concat([Buffer.from(`${play.root}/`), Buffer.of(0xff)]), '');
    const full = { ...whole, unreadable: 1 };
    assert.deepEqual(walked(root.tree(rootPath, { ...wide, mostEntries: 4 })).end, full);
    assert.deepEqual(walked(root.tree(rootPath, { ...wide, mostEntries: 3 })), {
      paths: ['file', 'folder'],
      end: { ...full, cut: true },
    });
    const flat = walked(root.tree(rootPath, { ...wide, mostDepth: 0 }));
    assert.deepEqual(flat, { paths: ['file', 'folder'], end: { ...full, unentered: 1 } });
    const chosen = walked(root.tree(rootPath, { ...wide, enters: (name) => name !== 'folder' }));
    assert.deepEqual(chosen, { paths: ['file', 'folder'], end: full });
  });

  test(`a tree is cut where its paths take more bytes than they may (${footing})`, () => {
    using play = playground();
    const root = openBelow(play.root, { walkMethod: footing });
    // file, folder, folder/file
    assert.deepEqual(walked(root.tree(rootPath, { ...wide, mostBytes: 21 })).end, whole);
    const less = walked(root.tree(rootPath, { ...wide, mostBytes: 20 }));
    assert.deepEqual(less, { paths: ['file', 'folder'], end: { ...whole, cut: true } });
  });

  test(`a tree takes a step for every name, even one that it cannot give (${footing})`, () => {
    using play = playground();
    for (let at = 0; at < 50; at++)
      writeFileSync(Buffer.concat([Buffer.from(`${play.root}/${at}`), Buffer.of(0xff)]), '');
    const steps = [...openBelow(play.root, { walkMethod: footing }).tree(rootPath, wide)];
    assert.equal(steps.length, 53);
    assert.equal(steps.filter(({ path }) => path === null).length, 50);
  });

  test(`a tree does not go into hidden folders where they are refused (${footing})`, () => {
    using play = playground();
    mkdirSync(join(play.root, '.git'));
    writeFileSync(join(play.root, '.git', 'config'), 'key');
    const root = openBelow(play.root, { walkMethod: footing, hidden: 'refuse' });
    assert.deepEqual(walked(root.tree(rootPath, wide)).paths, ['.git', 'file', 'folder', 'folder/file']);
  });

  test(`a folder that goes away while a tree is walked is left out, and no descriptor stays (${footing})`, () => {
    using play = playground();
    const before = openDescriptors();
    const steps = openBelow(play.root, { walkMethod: footing }).tree(rootPath, wide);
    steps.next();
    rmSync(join(play.root, 'folder'), { recursive: true });
    assert.ok(!walked(steps).paths.includes('folder/file'));
    assert.equal(openDescriptors(), before);
  });

  test(`a tree that is given up halfway leaves no descriptor open (${footing})`, () => {
    using play = playground();
    const before = openDescriptors();
    for (const entry of openBelow(play.root, { walkMethod: footing }).tree(rootPath, wide))
      if (entry.path === 'folder/file') break;
    assert.equal(openDescriptors(), before);
  });
}

test('a tree enters no folder whose path is longer than 4,096 bytes', () => {
  using play = playground();
  const name = 'é'.repeat(127);
  const chain = (levels: number): string => Array<string>(levels).fill(name).join('/');
  const [upper, lower] = [join(play.root, chain(10)), join(play.outside, chain(7))];
  for (const folder of [upper, lower]) mkdirSync(folder, { recursive: true });
  // Seventeen levels of 254 bytes: the path of the last but one takes 4,079, that of the last 4,334.
  writeFileSync(join(lower, 'unseen'), '');
  writeFileSync(join(lower, '..', 'seen'), '');
  // No path can name the last one. It is moved there, and back again so that it can be removed.
  renameSync(join(play.outside, name), join(upper, name));
  const tree = openBelow(play.root, { walkMethod: 'descriptors' }).tree(rootPath, { ...wide, mostDepth: 64 });
  const { paths, end } = walked(tree);
  renameSync(join(upper, name), join(play.outside, name));
  assert.deepEqual(end, { ...whole, unentered: 1 });
  assert.equal(paths.filter((path) => path.endsWith(name)).length, 17);
  assert.ok(paths.includes(`${chain(16)}/seen`));
  assert.ok(!paths.some((path) => path.endsWith('/unseen')));
});

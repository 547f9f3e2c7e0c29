import assert from 'node:assert/strict';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { isWorkcrateError } from '../errors.ts';
import { openBelow, rootPath, joinComponents, parseName, parsePath, type FolderRoot } from './paths.ts';
import { allFootings, playground, refusedAs, textOf } from './playground.testing.ts';

const notFound = { code: 'path_not_found' };

for (const footing of allFootings) {
  test(`a file that is created, moved and opened keeps its bytes (${footing})`, () => {
    using play = playground();
    const root = openBelow(play.root, { walkMethod: footing });
    root.makeFolder(parsePath('new/deep'));
    root.makeFolder(parsePath('new/deep'));
    {
      using created = root.create(parsePath('new/deep/file'));
      writeSync(created.fd, 'bytes');
      created[Symbol.dispose]();
    }
    root.rename(parsePath('new/deep/file'), parsePath('folder/file'));
    assert.equal(textOf(root.open(parsePath('folder/file'))), 'bytes');
    assert.equal(root.stat(parsePath('folder/file')).size, 5);
    root.remove(parsePath('folder/file'));
    root.remove(parsePath('new/deep'));
    assert.throws(() => root.open(parsePath('folder/file')), notFound);
    assert.deepEqual(readdirSync(join(play.root, 'new')), []);
  });

  test(`a file that gets a second name keeps its first, and takes no other's place (${footing})`, () => {
    using play = playground();
    const root = openBelow(play.root, { walkMethod: footing });
    root.link(parsePath('file'), parsePath('folder/second'));
    root.remove(parsePath('file'));
    assert.equal(textOf(root.open(parsePath('folder/second'))), 'inside');
    const taken = () => root.link(parsePath('folder/second'), parsePath('folder/file'));
    assert.throws(taken, { code: 'already_exists', message: /"folder\/file"/ });
    assert.throws(() => root.link(parsePath('missing'), parsePath('x')), notFound);
    assert.throws(() => root.link(parsePath('folder/second'), parsePath('missing/x')), notFound);
    assert.throws(() => root.link(parsePath('folder'), parsePath('x')), refusedAs('not_regular'));
    assert.throws(() => root.link(rootPath, parsePath('x')), refusedAs('empty'));
  });

  test(`what cannot be done is told by its code (${footing})`, () => {
    using play = playground();
    const root = openBelow(play.root, { walkMethod: footing });
    assert.throws(() => root.open(parsePath('file/x')), notFound);
    assert.throws(() => root.create(parsePath('missing/x')), notFound);
    assert.throws(() => root.remove(parsePath('missing')), notFound);
    assert.throws(() => root.create(parsePath('file')), { code: 'already_exists' });
    assert.throws(() => root.rename(parsePath('folder'), parsePath('folder/x')), { code: 'invalid_input' });
    assert.throws(() => root.remove(parsePath('folder')), refusedAs('not_empty'));
    assert.throws(() => root.makeFolder(parsePath('file')), refusedAs('not_folder'));
    assert.throws(() => root.list(parsePath('file')), refusedAs('not_folder'));
    assert.throws(() => root.open(parsePath('folder')), refusedAs('not_regular'));
    assert.throws(() => root.open(rootPath), refusedAs('not_regular'));
    assert.throws(() => root.remove(rootPath), refusedAs('empty'));
    assert.throws(() => openBelow(join(play.root, 'missing'), { walkMethod: footing }).list(), notFound);
  });

  test(`a link in the last place is removed, moved or in the way, never followed (${footing})`, () => {
    using play = playground();
    symlinkSync('../outside/secret', join(play.root, 'link'));
    symlinkSync('../outside/new', join(play.root, 'dead'));
    const root = openBelow(play.root, { walkMethod: footing, links: 'within' });
    assert.throws(() => root.create(parsePath('link')), { code: 'already_exists' });
    assert.throws(() => root.create(parsePath('dead')), { code: 'already_exists' });
    assert.throws(() => root.makeFolder(parsePath('dead')), refusedAs('link'));
    assert.throws(() => root.link(parsePath('link'), parsePath('x')), refusedAs('not_regular'));
    assert.throws(() => root.link(parsePath('file'), parsePath('dead')), { code: 'already_exists' });
    root.rename(parsePath('file'), parsePath('link'));
    assert.equal(textOf(root.open(parsePath('link'))), 'inside');
    root.remove(parsePath('dead'));
    assert.deepEqual(readdirSync(play.outside), ['secret']);
    assert.equal(readFileSync(join(play.outside, 'secret'), 'utf8'), 'secret');
  });

  test(`any single name that the kernel allows can be created, listed and opened (${footing})`, () => {
    using play = playground();
    const root = openBelow(play.root, { walkMethod: footing });
    const folder = parsePath('names');
    fc.assert(
      fc.property(kernelName, (name) => {
        root.makeFolder(folder);
        const path = joinComponents(folder, parseName(name));
        root.create(path)[Symbol.dispose]();
        assert.deepEqual(
          root.list(folder).entries.map((entry) => entry.name),
          [name],
        );
        root.open(path)[Symbol.dispose]();
        root.remove(path);
      }),
      {
        numRuns: 500,
        examples: [['n'.repeat(255)], ['-rf'], ['\ufeff'], ['$(x)"\'\n'], ['\ufffd'], ['a\\b']],
      },
    );
  });

  for (const links of ['refuse', 'within'] as const) {
    test(`any path is refused, missing or opens a file below the root (${footing}, links: ${links})`, () => {
      using play = playground();
      layLinks(play.root);
      const root = openBelow(play.root, { walkMethod: footing, links });
      const seen = new Set<string>();
      fc.assert(
        fc.property(hostilePath, (path) => {
          seen.add(outcome(root, path, play.root));
        }),
        { numRuns: 5_000 },
      );
      assert.deepEqual([...seen].sort(), ['opened', 'path_not_found', 'path_refused']);
    });
  }
}

const kernelName = fc
  .string({ unit: 'binary', minLength: 1, maxLength: 80 })
  .filter((name) => name.isWellFormed() && !/^\.{1,2}$|[/\0]/.test(name) && Buffer.byteLength(name) <= 255);

const piece = fc.oneof(
  fc.constantFrom('file', 'folder', 'in', 'out', 'up', 'loop', 'etc', 'secret', 'outside', 'root'),
  fc.constantFrom('.', '..', '', '%2e%2e', '．．', '..\\', 'C:', '\0'),
  fc.string({ unit: 'grapheme', maxLength: 3 }),
);
const hostilePath = fc
  .tuple(fc.array(piece, { minLength: 1, maxLength: 5 }), fc.constantFrom('/', '/', '/', '\\', '%2f', '∕'))
  .map(([pieces, separator]) => pieces.join(separator));

function layLinks(root: string): void {
  mkdirSync(join(root, 'folder', 'folder'));
  writeFileSync(join(root, 'folder', 'folder', 'file'), 'inside');
  symlinkSync('folder/../folder', join(root, 'in'));
  symlinkSync('../outside', join(root, 'out'));
  symlinkSync('loop', join(root, 'loop'));
  symlinkSync('/etc', join(root, 'etc'));
  symlinkSync('..', join(root, 'folder', 'up'));
  symlinkSync('../../outside/secret', join(root, 'folder', 'out'));
}

function outcome(root: FolderRoot, path: string, directory: string): string {
  try {
    using file = root.open(parsePath(path));
    assert.ok(readlinkSync(`/proc/self/fd/${file.fd}`).startsWith(`${directory}/`), path);
    return 'opened';
  } catch (error) {
    if (isWorkcrateError(error)) return error.code;
    throw error;
  }
}

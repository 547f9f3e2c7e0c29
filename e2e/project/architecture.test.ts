import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { getLayer, listRooms, readProduct } from './check-layers.testing.ts';

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8');
const rooms = listRooms(readProduct().keys());

it('ARCHITECTURE.md has at most 1,500 words', () => {
  assert.ok(countWords(page) <= 1500, `${countWords(page)} words`);
});

it('README.md has at most 700 words', () => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  assert.ok(countWords(readme) <= 700, `${countWords(readme)} words`);
});

it('every path that ARCHITECTURE.md names is there', () => {
  const paths = [...page.matchAll(/`((?:src|e2e|bench|docs)\/[^`*{]*)`/g)].map(([, path]) => path!);
  assert.ok(paths.length > 40, 'it names its paths in backticks');
  assert.deepEqual(
    paths.filter((path) => !existsSync(join(root, path))),
    [],
  );
});

it('the table of ARCHITECTURE.md has every room, from the top layer to the bottom one', () => {
  const named = [...page.matchAll(/^\| `src\/([\w-]+)\/`/gm)].map(([, room]) => room!);
  assert.deepEqual(named.toSorted(), rooms.filter((room) => !room.includes('/')).toSorted());
  const disordered = named.filter((room, at) => at > 0 && getLayer('', room) > getLayer('', named[at - 1]!));
  assert.deepEqual(disordered, []);
});

it('every rule of ARCHITECTURE.md names the test that proves it', () => {
  const [, section = ''] = page.split('## Rules that always hold');
  const rules = section
    .split('\n## ')[0]!
    .split('\n')
    .filter((line) => line.startsWith('- '));
  assert.ok(rules.length > 10);
  assert.deepEqual(
    rules.filter((rule) => !/\((?:`[\w./-]+`(?:, )?)+\)$/.test(rule)),
    [],
  );
});

function countWords(markdown: string): number {
  return markdown.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
}

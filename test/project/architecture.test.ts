import assert from 'node:assert/strict';
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { it } from 'node:test';
import { getLayer, listRooms, readProduct } from './check-layers.testing.ts';

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8');
const rooms = listRooms(readProduct().keys());

it('ARCHITECTURE.md has at most 1,500 words', () => {
  assert.ok(countWords(page) <= 1500, `${countWords(page)} words`);
});

it('every path that ARCHITECTURE.md names is there', () => {
  const paths = [...page.matchAll(/`((?:src|test|bench|docs)\/[^`*{]*)`/g)].map(([, path]) => path!);
  assert.ok(paths.length > 40, 'it names its paths in backticks');
  assert.deepEqual(
    paths.filter((path) => !existsSync(join(root, path))),
    [],
  );
});

it('the list of ARCHITECTURE.md has every room, from the top layer to the bottom one', () => {
  const named = [...page.matchAll(/^- `src\/([\w/-]+)\/`: /gm)].map(([, room]) => room!);
  assert.deepEqual(named.toSorted(), rooms.filter((room) => isWholeRoom(room)).toSorted());
  const disordered = named.filter((room, at) => at > 0 && getLayer(room) > getLayer(named[at - 1]!));
  assert.deepEqual(disordered, []);
});

/** Not one within another. */
const isWholeRoom = (room: string): boolean => !rooms.includes(room.slice(0, room.lastIndexOf('/')));

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

it('every room has a README that names its door', () => {
  const without = rooms.filter((room) => {
    const file = join(root, 'src', room, 'README.md');
    if (!existsSync(file)) return true;
    const text = readFileSync(file, 'utf8');
    const files = readdirSync(join(root, 'src', room));
    const named = [...text.matchAll(/`([\w-]+\.ts)`/g)].map(([, name]) => name!);
    return text.split('\n').length < 5 || !named.some((name) => files.includes(name));
  });
  assert.deepEqual(without, []);
});

it('a README of a room names no file that is not there', () => {
  const missing = rooms.flatMap((room) => {
    const file = join(root, 'src', room, 'README.md');
    if (!existsSync(file)) return [];
    const named = [...readFileSync(file, 'utf8').matchAll(/`([\w./-]+\.ts)`/g)].map(([, name]) => name!);
    // From the room itself, from the one around it, from src/, from the checkout, or a test of the whole server.
    const bases = [`src/${room}`, `src/${room}/..`, 'src', '.', 'test/behaviour/backends'];
    return named
      .filter((name) => !bases.some((base) => existsSync(join(root, base, name))))
      .map((name) => `src/${room}/README.md names ${name}`);
  });
  assert.deepEqual(missing, []);
});

it('a README below src/ has its path as its title', () => {
  const wrong = globSync('src/**/README.md', { cwd: root })
    .map((file) => ({ file, title: `# ${dirname(file).slice('src/'.length)}` }))
    .filter(({ file, title }) => !readFileSync(join(root, file), 'utf8').startsWith(`${title}\n`))
    .map(({ file, title }) => `${file} has to begin with "${title}"`);
  assert.deepEqual(wrong, []);
});

it('a README of a room names no folder that is not there', () => {
  const missing = rooms.flatMap((room) => {
    const file = `src/${room}/README.md`;
    if (!existsSync(join(root, file))) return [];
    const named = [
      ...readFileSync(join(root, file), 'utf8').matchAll(/`((?:\.\.\/)*[\w-]+\/(?:[\w-]+\/)*)`/g),
    ];
    const bases = [`src/${room}`, `src/${room}/..`, 'src', '.'];
    return named
      .map(([, path]) => path!)
      .filter((path) => !isOfDataFolder(path) && !bases.some((base) => existsSync(join(root, base, path))))
      .map((path) => `${file} names ${path}: say the path below src/, or one beside the README`);
  });
  assert.deepEqual(missing, []);
});

const isOfDataFolder = (path: string): boolean => ['audit/', 'logs/', 'places/'].includes(path);

function countWords(markdown: string): number {
  return markdown.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
}

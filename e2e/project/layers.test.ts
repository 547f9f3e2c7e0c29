import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseImports } from '../../scripts/imports.ts';
import {
  findFault,
  findPackageFault,
  findRoomCycles,
  getLayer,
  isPartOf,
  listDoors,
  listRooms,
  needsLayer,
  readProduct,
  type Import,
} from './check-layers.testing.ts';
import { doors, layers } from './layers.testing.ts';

const product = readProduct();
const imports: Import[] = [...product].flatMap(([from, { files }]) => files.map((to) => ({ from, to })));
const rooms = listRooms(product.keys());

describe('layers and doors', () => {
  it('every room, and every file of src/ itself, is in one layer', () => {
    const names = [...rooms, ...[...product.keys()].filter((file) => !file.includes('/'))];
    const without = names.filter((name) => {
      const slash = name.lastIndexOf('/');
      const [folder, own] = [name.slice(0, Math.max(0, slash)), name.slice(slash + 1)];
      return needsLayer(folder, own) && getLayer(folder, own) === -1;
    });
    assert.deepEqual(without, [], 'name them in layers.testing.ts');
    for (const [folder, list] of Object.entries(layers))
      assert.equal(new Set(list.flat()).size, list.flat().length, `a name of '${folder}' is in two layers`);
  });

  it('a room imports rooms of lower layers only, and only by their doors', () => {
    const faults = imports.flatMap(({ from, to }) => {
      const fault = findFault({ from, to });
      return fault === null ? [] : `${from} imports ${to}: ${fault}`;
    });
    assert.deepEqual(faults, []);
  });

  it('no rooms import each other in a circle, types included', () => {
    assert.deepEqual(findRoomCycles(imports), []);
  });

  it('a package that is named is used by its rooms alone', () => {
    const faults = [...product].flatMap(([from, { packages }]) =>
      packages.flatMap((name) => findPackageFault(from, name) ?? []).map((fault) => `${from}: ${fault}`),
    );
    assert.deepEqual(faults, []);
  });

  it('a door that is named is there, and somebody comes in by it', () => {
    const unused = Object.keys(doors)
      .filter((room) => rooms.includes(room))
      .flatMap((room) =>
        listDoors(room)
          .filter(({ name, importer }) => !isUsed(room, name, importer))
          .map(({ name, importer }) => `${room}/${name}.ts for ${importer}`),
      );
    assert.deepEqual(unused, []);
  });
});

/** The file named after a room may be there for nobody yet. */
function isUsed(room: string, name: string, importer: string): boolean {
  if (name === '*' || (doors[room]?.all === undefined && room.endsWith(name))) return true;
  const to = `${room}/${name}.ts`;
  return imports.some(
    (one) => one.to === to && isPartOf(one.from, importer) && !one.from.startsWith(`${room}/`),
  );
}

describe('planted imports', () => {
  const forbidden: readonly [what: string, from: string, to: string, fault: RegExp][] = [
    ['a room above', 'storage/disk.ts', 'links/links.ts', /links is not below storage/],
    ['a room of the same layer', 'zip/zip.ts', 'database/database.ts', /database is not below zip/],
    ['another backend', 'sandbox/docker/container.ts', 'sandbox/bubblewrap/bubblewrap.ts', /not below/],
    ['a backend that is a file', 'storage/s3/s3.ts', 'storage/memory.ts', /memory.ts is not below/],
    ['what opens backends, from one of them', 'storage/azure/azure.ts', 'storage/open.ts', /not below/],
    ['a file that is no door', 'links/links.ts', 'files/quota.ts', /quota.ts is no door of files/],
    [
      'a room within a room',
      'documents/documents.ts',
      'crates/index/reading.ts',
      /crates is not below|no door/,
    ],
    ['the inside of a room below', 'documents/documents.ts', 'storage/s3/s3.ts', /no door of storage/],
    ['the inside of a sub-room', 'crates/crates.ts', 'crates/index/postings.ts', /no door of crates.index/],
    ['a sub-room of a higher layer', 'crates/text/words.ts', 'crates/sync/sync.ts', /sync is not below/],
    ['what only the assembly may use', 'crates/crates.ts', 'sandbox/open.ts', /open.ts is no door/],
    ['the composition root', 'executions/execute.ts', 'server/start.ts', /server is not below/],
    ['a command', 'server/start.ts', 'commands/serve.ts', /commands is not below server/],
    ['the settings', 'paths/paths.ts', 'config/config.ts', /config is not below paths/],
    ['a private file, by the assembly', 'server/start.ts', 'audit/queue.ts', /queue.ts is no door of audit/],
    ['a room that nobody knows', 'helpers/helpers.ts', 'errors.ts', /helpers is in no layer/],
    ['a sub-room that nobody knows', 'links/links.ts', 'links/extra/extra.ts', /links.extra is in no layer/],
    ['test code', 'links/links.ts', 'eventually.testing.ts', /is for tests/],
    ['a contract suite', 'storage/open.ts', 'storage/storage.contract.ts', /is for tests/],
  ];
  for (const [what, from, to, fault] of forbidden)
    it(`refused: ${what}`, () => assert.match(findFault({ from, to }) ?? 'nothing', fault));

  const allowed: readonly [what: string, from: string, to: string][] = [
    ['a door of a lower room', 'links/links.ts', 'files/files.ts'],
    ['the room around a sub-room', 'storage/s3/s3.ts', 'storage/storage.ts'],
    ['a sub-room of its own, by its door', 'storage/open.ts', 'storage/s3/s3.ts'],
    ['another file of the room', 'links/links.ts', 'links/link.ts'],
    ['what only the assembly may use, by it', 'server/execution.ts', 'sandbox/open.ts'],
  ];
  for (const [what, from, to] of allowed)
    it(`let through: ${what}`, () => assert.equal(findFault({ from, to }), null));

  it('refused: a package of another room', () => {
    assert.match(findPackageFault('links/links.ts', 'node:child_process') ?? '', /is for sandbox/);
    assert.match(findPackageFault('storage/disk.ts', 'pg') ?? '', /is for database alone/);
    assert.equal(findPackageFault('sandbox/docker/docker.ts', 'node:child_process'), null);
    assert.equal(findPackageFault('links/links.ts', 'zod'), null);
  });

  it('refused: a circle of rooms, of any length and within a room', () => {
    const circle = [
      { from: 'a/a.ts', to: 'b/b.ts' },
      { from: 'b/x.ts', to: 'c.ts' },
      { from: 'c.ts', to: 'a/y.ts' },
      { from: 'd/d.ts', to: 'a/a.ts' },
      { from: 'room/one/x.ts', to: 'room/two/y.ts' },
      { from: 'room/two/x.ts', to: 'room/one/y.ts' },
      { from: 'room/room.ts', to: 'room/one/x.ts' },
    ];
    assert.deepEqual(findRoomCycles(circle), [
      ['a', 'b', 'c.ts'],
      ['room/one', 'room/two'],
    ]);
  });

  it('seen: an import in every form in which it can be written', () => {
    const text = `
      import { a } from '../a/a.ts';
      import type { B } from '../b/b.ts';
      import {
        c,
        type D,
      } from '../c/c.ts';
      export { e } from './e.ts';
      export type { F } from './f.ts';
      import './g.ts';
      const h = await import('../h/h.ts');
      type I = import('../i/i.ts').I;
      import pg from 'pg';
      const fs = await import('node:fs');`;
    assert.deepEqual(parseImports('src/room/room.ts', text), {
      files: ['a/a', 'b/b', 'c/c', 'room/e', 'room/f', 'room/g', 'h/h', 'i/i'].map(
        (name) => `src/${name}.ts`,
      ),
      packages: ['pg', 'node:fs'],
    });
  });
});

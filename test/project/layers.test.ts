import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { listProductFiles, parseImports, readImports } from '../../scripts/imports.ts';
import {
  findFault,
  findPackageFault,
  findReach,
  findRoomCycles,
  getLayer,
  isPartOf,
  listDoors,
  listRooms,
  readProduct,
  type Import,
} from './check-layers.testing.ts';
import { doors, upward } from './layers.testing.ts';

const product = readProduct();
const imports: Import[] = [...product].flatMap(([from, { files }]) => files.map((to) => ({ from, to })));
const rooms = listRooms(product.keys());

describe('layers and doors', () => {
  it('every file is in a layer', () => {
    assert.deepEqual(
      [...product.keys()].filter((file) => getLayer(file) === -1),
      [],
    );
  });

  it('a room imports what is not above it, and only by its doors', () => {
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

  it('a package of its own reaches no file outside of it', () => {
    const files = listProductFiles().filter((file) => file.startsWith('packages/'));
    assert.ok(files.length > 10);
    assert.deepEqual(
      files.flatMap((file) => findReach(file, readImports(file))),
      [],
    );
    const reach = { files: ['src/platform/errors.ts'], packages: ['node:child_process'] };
    assert.equal(findReach('packages/ask/agent.ts', reach).length, 2);
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

describe('exceptions', () => {
  it('one that nobody uses is gone', () => {
    const unused = Object.entries(upward).flatMap(([room, rooms]) =>
      rooms
        .filter(
          (above) =>
            !imports.some(({ from, to }) => from.startsWith(`${room}/`) && to.startsWith(`${above}/`)),
        )
        .map((above) => `${room} imports ${above}`),
    );
    assert.deepEqual(unused, []);
  });
});

describe('planted imports', () => {
  const forbidden: readonly [what: string, from: string, to: string, fault: RegExp][] = [
    ['a layer above', 'ports/storage/disk.ts', 'core/links/links.ts', /core.links is above ports.storage/],
    ['a feature, by the core', 'core/files/files.ts', 'features/guard/guard.ts', /guard is above core.files/],
    ['a surface, by a feature', 'features/skills/skills.ts', 'surfaces/mcp/http.ts', /mcp is above features/],
    [
      'another feature',
      'features/documents/documents.ts',
      'features/skills/skills.ts',
      /no door of features.skills/,
    ],
    [
      'a feature, by a surface',
      'surfaces/http/app.ts',
      'features/skills/skills.ts',
      /no door of features.skills/,
    ],
    [
      'a file that is no door',
      'core/links/links.ts',
      'core/files/quota.ts',
      /quota.ts is no door of core.files/,
    ],
    [
      'the inside of a room below',
      'core/files/files.ts',
      'ports/storage/s3/s3.ts',
      /no door of ports.storage/,
    ],
    [
      'the inside of a room within a room',
      'features/documents/documents.ts',
      'features/documents/worker/limits.ts',
      /no door of features.documents.worker/,
    ],
    [
      'what only the assembly may use',
      'features/crates/crates.ts',
      'ports/sandbox/open.ts',
      /open.ts is no door/,
    ],
    ['the composition root', 'core/runs/execute.ts', 'server/start.ts', /server is above core.runs/],
    ['a command', 'server/start.ts', 'cli/serve.ts', /cli is above server/],
    ['the inside of a feature, by the assembly', 'server/start.ts', 'features/skills/folders.ts', /no door/],
    ['a layer that nobody knows', 'helpers/helpers.ts', 'platform/errors.ts', /helpers.ts is in no layer/],
    ['test code', 'core/links/links.ts', 'platform/eventually.testing.ts', /is for tests/],
    ['a contract suite', 'ports/storage/open.ts', 'ports/storage/storage.contract.ts', /is for tests/],
  ];
  for (const [what, from, to, fault] of forbidden)
    it(`refused: ${what}`, () => assert.match(findFault({ from, to }) ?? 'nothing', fault));

  const allowed: readonly [what: string, from: string, to: string][] = [
    ['a door of a lower layer', 'core/links/links.ts', 'platform/zip/zip.ts'],
    ['a door of a room of the same layer', 'core/links/links.ts', 'core/files/files.ts'],
    ['the room around a room', 'ports/storage/s3/s3.ts', 'ports/storage/storage.ts'],
    ['a room of its own, by its door', 'ports/storage/open.ts', 'ports/storage/s3/s3.ts'],
    ['another file of the room', 'core/links/links.ts', 'core/links/link.ts'],
    ['every file of a collection', 'core/links/links.ts', 'platform/concurrency/mutex.ts'],
    ['the inside of a room, by the assembly', 'server/execution.ts', 'ports/sandbox/open.ts'],
    ['a feature, by the assembly', 'server/features.ts', 'features/skills/feature.ts'],
  ];
  for (const [what, from, to] of allowed)
    it(`let through: ${what}`, () => assert.equal(findFault({ from, to }), null));

  it('refused: a package of another room', () => {
    assert.match(findPackageFault('core/links/links.ts', 'node:child_process') ?? '', /is for ports.sandbox/);
    assert.match(findPackageFault('ports/storage/disk.ts', 'pg') ?? '', /is for ports.database alone/);
    assert.equal(findPackageFault('ports/sandbox/docker/docker.ts', 'node:child_process'), null);
    assert.equal(findPackageFault('core/links/links.ts', 'zod'), null);
  });

  it('refused: a circle of rooms, of any length and within a room', () => {
    const circle = [
      { from: 'core/a/a.ts', to: 'core/b/b.ts' },
      { from: 'core/b/x.ts', to: 'features/c/c.ts' },
      { from: 'features/c/c.ts', to: 'core/a/y.ts' },
      { from: 'core/d/d.ts', to: 'core/a/a.ts' },
      { from: 'core/room/one/x.ts', to: 'core/room/two/y.ts' },
      { from: 'core/room/two/x.ts', to: 'core/room/one/y.ts' },
      { from: 'core/room/room.ts', to: 'core/room/one/x.ts' },
    ];
    assert.deepEqual(findRoomCycles(circle), [
      ['core/a', 'core/b', 'features/c'],
      ['core/room/one', 'core/room/two'],
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

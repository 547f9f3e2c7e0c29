import assert from 'node:assert/strict';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { after, describe, test } from 'node:test';
import type { Database } from '../../ports/database/database.ts';
import { openDatabase } from '../../ports/database/open.ts';
import { findPostgres, NO_POSTGRES } from '../../ports/database/postgres.testing.ts';
import type { Workspace } from '../../ports/sandbox/sandbox.ts';
import { createWorkspaces, type WorkspacesOptions } from './workspaces.ts';

const server = await findPostgres();
after(() => server?.[Symbol.asyncDispose]());

const folder = mkdtempSync(join(tmpdir(), 'workcrate-places-'));
after(() => rmSync(folder, { recursive: true }));
let folders = 0;

function placesOn(database: Database, given: Partial<WorkspacesOptions> = {}) {
  const options = { folder: join(folder, `${++folders}`), uids: null, clock: Date.now, ...given };
  return createWorkspaces({ database, ...options });
}

async function opened(location: string) {
  const database = await openDatabase(location);
  return Object.assign(database, { [Symbol.asyncDispose]: () => database.close() });
}

test('every user has folders of their own, the same ones each time, whatever their name', async () => {
  await using database = await opened(':memory:');
  const home = join(folder, 'names');
  const places = placesOn(database, { folder: home });
  const names = ['ada', 'ADA', '../ada', '/etc', '..', '.', 'a/b', "'; --", '👩‍🔬', 'x'.repeat(5000), ' '];
  const made = await Promise.all(names.map((name) => places.of(name)));
  const all = made.flatMap(({ workspace, artifacts }) => [workspace, artifacts]);
  assert.equal(new Set(all).size, 2 * names.length);
  for (const each of all) {
    assert.match(relative(home, each), /^\d+\/(?:workspace|artifacts)$/);
    assert.equal(statSync(each).mode & 0o777, 0o700);
  }
  const again = placesOn(database, { folder: home });
  for (const [at, name] of names.entries()) {
    assert.deepEqual(await again.find(name), made[at]);
    assert.deepEqual(await again.of(name), made[at]);
  }
});

test('somebody who never had any folders has none, and gets none by being looked for', async () => {
  await using database = await opened(':memory:');
  const places = placesOn(database);
  assert.equal(await places.find('ada'), null);
  assert.deepEqual(await database.query('SELECT * FROM places'), []);
});

test('folders that were removed are made again', async () => {
  await using database = await opened(':memory:');
  const home = join(folder, 'removed');
  const { workspace } = await placesOn(database, { folder: home }).of('ada');
  rmSync(home, { recursive: true });
  await placesOn(database, { folder: home }).of('ada');
  assert.ok(statSync(workspace).isDirectory());
});

for (const [what, spoil] of Object.entries({
  'the folder of the user': ({ workspace }: Workspace) => rmSync(dirname(workspace), { recursive: true }),
  'its workspace': ({ workspace }: Workspace) => rmSync(workspace, { recursive: true }),
  'its workspace, and made another': ({ workspace }: Workspace) => {
    renameSync(workspace, `${workspace}.old`);
    mkdirSync(workspace, { mode: 0o755 });
  },
}))
  test(`an operator who removes ${what} under a running server is noticed by the next run`, async () => {
    await using database = await opened(':memory:');
    const places = placesOn(database);
    const before = await places.of('ada');
    assert.equal(await places.of('ada'), before);
    spoil(before);
    const after = await places.of('ada');
    assert.notEqual(after, before, 'another object, by which a sandbox notices it');
    assert.deepEqual(after, before);
    for (const each of [after.workspace, after.artifacts]) assert.equal(statSync(each).mode & 0o777, 0o700);
    assert.equal(await places.of('ada'), after);
  });

for (const which of ['', 'workspace', 'artifacts', 'packages'])
  test(`a link in the place of the folder ${which || 'of the user'} is refused, and what it leads to is left alone`, async () => {
    await using database = await opened(':memory:');
    const home = join(folder, `link-${which}`);
    const { workspace } = await placesOn(database, { folder: home }).of('ada');
    const [at, elsewhere] = [join(dirname(workspace), which), mkdtempSync(join(folder, 'elsewhere-'))];
    chmodSync(elsewhere, 0o755);
    renameSync(at, `${at.replace(/\/$/, '')}.old`);
    symlinkSync(elsewhere, at.replace(/\/$/, ''));
    const refused = { code: 'path_refused', message: /is a link.*--data/, details: { kind: 'link' } };
    for (const places of [placesOn(database, { folder: home }), placesOn(database, { folder: home })]) {
      await assert.rejects(places.of('ada'), refused);
      await assert.rejects(places.find('ada'), refused);
    }
    const stats = statSync(elsewhere);
    assert.deepEqual(
      [stats.mode & 0o777, stats.uid, readdirSync(elsewhere)],
      [0o755, process.getuid?.(), []],
    );
  });

test('folders that become a link while the server runs are refused too, and the folder of all users may be one', async () => {
  await using database = await opened(':memory:');
  const real = mkdtempSync(join(folder, 'real-'));
  const home = join(folder, 'linked-home');
  symlinkSync(real, home);
  const places = placesOn(database, { folder: home });
  const { artifacts } = await places.of('ada');
  rmSync(artifacts, { recursive: true });
  symlinkSync('/etc', artifacts);
  await assert.rejects(places.of('ada'), { code: 'path_refused' });
});

const skip = process.getuid?.() === 0 ? false : 'only root can give folders away';

test('as root, folders belong to the uid of their user, and uids come to an end', { skip }, async () => {
  await using database = await opened(':memory:');
  const places = placesOn(database, { uids: { from: 200_000, to: 200_001 } });
  const [ada, bob] = [await places.of('ada'), await places.of('bob')];
  assert.deepEqual([ada.uid, bob.uid], [200_000, 200_001]);
  for (const place of [ada, bob])
    for (const each of [place.workspace, place.artifacts]) {
      const { uid, gid, mode } = statSync(each);
      assert.deepEqual([uid, gid, mode & 0o777], [place.uid, place.uid, 0o700]);
    }
  chmodSync(ada.workspace, 0o777);
  await assert.rejects(places.of('eve'), { code: 'sandbox_unavailable', message: /--sandbox-uids/ });
});

describe('places on PostgreSQL', { skip: server === null && NO_POSTGRES }, () => {
  test('users who come at once, to several servers, get a number each', async () => {
    const url = await server!.url();
    await using first = await opened(url);
    await using second = await opened(url);
    const home = join(folder, 'at-once');
    const rooms = [first, second].map((database) => placesOn(database, { folder: home }));
    const users = Array.from({ length: 40 }, (_, n) => `user${n}`);
    const made = await Promise.all(rooms.map((places) => Promise.all(users.map((user) => places.of(user)))));
    assert.deepEqual(made[0], made[1]);
    assert.equal(new Set(made[0]!.map(({ workspace }) => workspace)).size, users.length);
    const rows = await first.query<{ number: number }>('SELECT number FROM places ORDER BY number');
    assert.deepEqual(
      rows.map(({ number }) => number),
      users.map((_, n) => n + 1),
    );
  });
});

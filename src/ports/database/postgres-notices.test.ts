import assert from 'node:assert/strict';
import { after, describe, test, type TestContext } from 'node:test';
import pg from 'pg';
import { eventually } from '../../platform/eventually.testing.ts';
import { openDatabase } from './open.ts';
import { createNotices } from './postgres-notices.ts';
import { findPostgres, NO_POSTGRES } from './postgres.testing.ts';

const server = await findPostgres();
after(() => server?.[Symbol.asyncDispose]());

const addLink = `INSERT INTO links (token_hash, id, owner, created_at, expires_at, single_use)
  VALUES ('h', 'l', 'ada', 1, 2, 0)`;
const addFile = `INSERT INTO files
  (id, owner, name, media_type, size, sha256, crc32, origin, storage_key, created_at, expires_at)
  VALUES ('f', 'ada', 'a', 'text/plain', 3, 'aa', 1, 'upload', 'files/1', 1, 2)`;

/** Notices on a real database, whose beats the test may hold back, and a server beside it that writes. */
async function stage(t: TestContext) {
  const url = await server!.url();
  const other = await openDatabase(url);
  await other.query(addLink);
  await other.query(addFile);
  const sending = { isOn: true };
  const pids: number[] = [];
  const notices = createNotices({
    newClient: () => {
      const client = new pg.Client({ connectionString: url });
      client.once('connect', () => void pids.push((client as pg.Client & { processID: number }).processID));
      return client;
    },
    notify: async (channel, payload) =>
      sending.isOn && other.query('SELECT pg_notify(?, ?)', channel, payload),
  });
  t.after(() => Promise.all([notices.close(), other.close()]));
  return { url, other, notices, sending, pids };
}

type Stage = Awaited<ReturnType<typeof stage>>;

async function awaitVersion({ version }: { version(): number | null }): Promise<number> {
  let found: number | null = null;
  await eventually(() => (found = version()) !== null);
  return found!;
}

/** Whether a write of others changes the version while no beat does; a machine that stalls gets another chance. */
async function isHeard(staged: Stage, sql: string): Promise<boolean> {
  for (let attempt = 0; attempt < 5; attempt++) {
    staged.sending.isOn = true;
    await awaitVersion(staged.notices);
    staged.sending.isOn = false;
    // The last beat may still be on its way; what comes after it is no beat.
    await staged.other.query('SELECT pg_sleep(0.1) AS s');
    const before = staged.notices.version();
    if (before === null) continue;
    await staged.other.query(sql);
    for (let version = staged.notices.version(); version !== null; version = staged.notices.version()) {
      if (version !== before) return true;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
  return false;
}

describe('notices of PostgreSQL', { skip: server === null && NO_POSTGRES }, () => {
  for (const sql of [
    'UPDATE links SET revoked_at = 5',
    'UPDATE links SET consumed_at = 5',
    'UPDATE links SET expires_at = 5',
    "UPDATE links SET target = 'b'",
    'DELETE FROM links',
    'TRUNCATE links',
    "UPDATE files SET storage_key = 'files/2'",
    'DELETE FROM files',
    'TRUNCATE files',
  ])
    test(`another process is heard that runs ${sql}`, async (t) => {
      assert.equal(await isHeard(await stage(t), sql), true);
    });

  test('counts of downloads and longer lives of files are told to nobody', async (t) => {
    const staged = await stage(t);
    const told: string[] = [];
    const listener = new pg.Client({ connectionString: staged.url });
    await listener.connect();
    t.after(() => listener.end());
    listener.on('notification', ({ payload }) => void told.push(payload ?? ''));
    await listener.query('LISTEN workcrate_links');
    await staged.other.query('UPDATE links SET downloads = 1, bytes_sent = 1, last_used_at = 1');
    await staged.other.query('UPDATE files SET expires_at = 9');
    await staged.other.query("SELECT pg_notify('workcrate_links', 'last')");
    await eventually(() => told.length > 0);
    assert.deepEqual(told, ['last']);
  });

  test('there is no version while the notices that it sends itself do not come back', async (t) => {
    const { notices, sending, pids } = await stage(t);
    sending.isOn = false;
    assert.equal(notices.version(), null);
    await eventually(() => pids.length === 1);
    await new Promise((resolve) => setTimeout(resolve, 100));
    assert.equal(notices.version(), null);
  });

  test('a listening connection that is cut leaves no version, and what was heard before counts no more', async (t) => {
    const staged = await stage(t);
    const { other, notices, sending, pids } = staged;
    const before = await awaitVersion(staged.notices);
    sending.isOn = false;
    await other.query('SELECT pg_terminate_backend(?)', pids[0]!);
    await eventually(() => notices.version() === null);
    // It listens again, but nothing has shown yet that it hears.
    await eventually(() => {
      assert.equal(notices.version(), null);
      return pids.length === 2;
    });
    sending.isOn = true;
    assert.ok((await awaitVersion(notices)) > before);
  });

  test('an own write changes the version before it is answered, and so does one that fails', async (t) => {
    const database = await openDatabase(await server!.url());
    t.after(() => database.close());
    const writes = [
      () => database.query(addLink),
      () => database.query(addLink).catch(() => {}),
      () => database.transaction((tx) => tx.query('UPDATE links SET revoked_at = 5')),
    ];
    for (const write of writes) {
      const before = await awaitVersion(database);
      await write();
      assert.notEqual(database.version(), before);
    }
  });

  test('a database that is closed while it begins to listen leaves no connection', async () => {
    const url = await server!.url();
    const database = await openDatabase(url);
    database.version();
    await database.close();
    assert.equal(database.version(), null);
    const look = new pg.Client({ connectionString: url });
    await look.connect();
    const others =
      'SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()';
    await eventually(async () => (await look.query(others)).rows.length === 0);
    await look.end();
  });
});

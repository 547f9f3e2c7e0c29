import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { Database } from '../../ports/database/database.ts';
import { openDatabase } from '../../ports/database/open.ts';
import { findPostgres, NO_POSTGRES } from '../../ports/database/postgres.testing.ts';
import type { AuditLine } from './line.ts';
import { filesIn, keptLog, linesOf, noon, open, temporaryLog } from './log.testing.ts';
import { addWaitingEvent, countWaitingEvents, startWritingWaiting } from './waiting.ts';
import { verifyAudit } from './verify.ts';

const server = await findPostgres();
after(() => server?.[Symbol.asyncDispose]());

const backends = {
  SQLite: { skip: false as const, location: async () => ':memory:' },
  PostgreSQL: { skip: server === null && NO_POSTGRES, location: () => server!.url() },
};

const change = (subject: string) => ({
  operation: 'user_add',
  user: 'os:root@here',
  subject,
  details: { scopes: 'files' },
});

const addedIn = (folder: string): AuditLine[] =>
  filesIn(folder)
    .flatMap((file) => linesOf(folder, file))
    .filter(({ operation }) => operation === 'user_add');

for (const [name, { skip, location }] of Object.entries(backends))
  describe(`lines of commands on ${name}`, { skip }, () => {
    async function stage() {
      await using opened = new AsyncDisposableStack();
      const database = opened.adopt(await openDatabase(await location()), (it) => it.close());
      const folder = opened.use(temporaryLog()).path;
      const all = opened.move();
      return { database, folder, [Symbol.asyncDispose]: () => all.disposeAsync() };
    }

    /** A server that starts, writes what waits, and stops. */
    async function serve(database: Database, folder: string, id = 'one', clock = () => noon): Promise<void> {
      const { log } = keptLog();
      await using audit = open(folder, { clock });
      await using _ = await startWritingWaiting({
        database,
        server: id,
        audit,
        folder,
        key: null,
        clock,
        log,
      });
    }

    test('what was done while no server ran is written at the next start, in its order', async () => {
      await using at = await stage();
      await addWaitingEvent(at.database, change('eve'), noon - 2000);
      await addWaitingEvent(at.database, change('ada'), noon - 3000);
      assert.equal(await countWaitingEvents(at.database), 2);
      await serve(at.database, at.folder);
      const [ada, eve, ...more] = addedIn(at.folder);
      assert.deepEqual([ada?.subject, eve?.subject, more], ['ada', 'eve', []]);
      assert.equal(ada?.user, 'os:root@here');
      assert.equal(ada?.details?.['done_at'], new Date(noon - 3000).toISOString());
      assert.equal(await countWaitingEvents(at.database), 0);
      assert.ok((await verifyAudit(at.folder, null)).ok);
    });

    test('what is rolled back has no line', async () => {
      await using at = await stage();
      const failed = at.database.transaction(async (tx) => {
        await addWaitingEvent(tx, change('ada'), noon);
        throw new Error('no');
      });
      await assert.rejects(failed);
      assert.equal(await countWaitingEvents(at.database), 0);
    });

    test('one of two servers that look at once writes each line', async () => {
      await using at = await stage();
      using other = temporaryLog();
      for (let n = 0; n < 50; n++) await addWaitingEvent(at.database, change(`u${n}`), noon - n);
      await Promise.all([serve(at.database, at.folder, 'one'), serve(at.database, other.path, 'two')]);
      const written = [...addedIn(at.folder), ...addedIn(other.path)].map(({ subject }) => subject);
      assert.deepEqual(new Set(written), new Set(Array.from({ length: 50 }, (_, n) => `u${n}`)));
      assert.equal(written.length, 50);
    });

    test('a crash between a line and the end of its event does not double the line', async () => {
      await using at = await stage();
      await addWaitingEvent(at.database, change('ada'), noon);
      const rows = await at.database.query('SELECT * FROM audit_waiting');
      await serve(at.database, at.folder);
      const [row] = rows;
      await at.database.query(
        'INSERT INTO audit_waiting (id, done_at, event, taken_by, taken_until) VALUES (?, ?, ?, ?, ?)',
        row!['id']!,
        row!['done_at']!,
        row!['event']!,
        'one',
        noon + 60_000,
      );
      await serve(at.database, at.folder);
      assert.equal(addedIn(at.folder).length, 1);
      assert.equal(await countWaitingEvents(at.database), 0);
    });

    test('what a server took and never wrote is written by another one a minute later', async () => {
      await using at = await stage();
      await addWaitingEvent(at.database, change('ada'), noon);
      await at.database.query(
        'UPDATE audit_waiting SET taken_by = ?, taken_until = ?',
        'gone',
        noon + 60_000,
      );
      await serve(at.database, at.folder);
      assert.deepEqual(addedIn(at.folder), []);
      await serve(at.database, at.folder, 'one', () => noon + 60_000);
      assert.equal(addedIn(at.folder).length, 1);
    });

    test('an event stays until its line is on the disk', async () => {
      await using at = await stage();
      await addWaitingEvent(at.database, change('ada'), noon);
      const { events, log } = keptLog();
      let isFull = true;
      const noted: unknown[] = [];
      const audit = {
        note: (event: unknown) => void noted.push(event),
        flush: async () => {
          if (isFull) throw new Error('full');
        },
      };
      const { database, folder } = at;
      {
        await using _ = await startWritingWaiting({
          database,
          server: 'one',
          audit,
          folder,
          key: null,
          clock: () => noon,
          log,
        });
        assert.equal(await countWaitingEvents(database), 1);
        assert.deepEqual(events, ['audit.waiting_not_written']);
        isFull = false;
      }
      assert.equal(await countWaitingEvents(database), 0);
      assert.equal(noted.length, 1);
    });
  });

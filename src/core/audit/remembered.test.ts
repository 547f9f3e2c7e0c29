import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import type { Database } from '../../ports/database/database.ts';
import { openDatabase } from '../../ports/database/open.ts';
import { findPostgres, NO_POSTGRES } from '../../ports/database/postgres.testing.ts';
import type { AuditLine } from './line.ts';
import { event, filesIn, linesOf, noon, open, temporaryLog } from './log.testing.ts';
import { openAuditMemory, readRemembered } from './read.ts';
import { verifyAudit } from './verify.ts';

const server = await findPostgres();
after(() => server?.[Symbol.asyncDispose]());

const backends = {
  SQLite: { skip: false as const, location: async () => ':memory:' },
  PostgreSQL: { skip: server === null && NO_POSTGRES, location: () => server!.url() },
};

const dayMs = 86_400_000;

interface Start {
  readonly lines?: number;
  readonly clock?: () => number;
  readonly id?: string;
}

/** A server that writes some lines, and ends. Gives what went to its log. */
async function start(
  database: Database,
  folder: string,
  { lines = 3, clock = () => noon, id = 'one' }: Start,
) {
  const errors: [string, unknown][] = [];
  const keep = (name: string, facts?: Readonly<Record<string, unknown>>): void =>
    void errors.push([name, facts?.['because']]);
  const log = { debug() {}, info() {}, warn() {}, error: keep };
  const memory = await openAuditMemory({ database, server: id, place: 'here', folder, clock, log });
  await using audit = open(folder, { memory, clock, log });
  for (let n = 0; n < lines; n++) audit.note(event({ subject: `${n}` }));
  return errors;
}

async function verify(database: Database, folder: string, id = 'one') {
  const { ok, problems, notes } = await verifyAudit(folder, null, await readRemembered(database, id));
  return { ok, problems: problems.map(({ what }) => what), notes: notes.map(({ what }) => what) };
}

const allLines = (folder: string): AuditLine[] => filesIn(folder).flatMap((file) => linesOf(folder, file));

for (const [name, { skip, location }] of Object.entries(backends))
  describe(`the head of the audit log on ${name}`, { skip }, () => {
    async function stage() {
      await using opened = new AsyncDisposableStack();
      const database = opened.adopt(await openDatabase(await location()), (it) => it.close());
      const folder = opened.use(temporaryLog()).path;
      const copy = join(mkdtempSync(join(tmpdir(), 'workcrate-audit-copy-')), 'audit');
      opened.defer(() => rmSync(copy, { recursive: true, force: true }));
      const all = opened.move();
      return { database, folder, copy, [Symbol.asyncDispose]: () => all.disposeAsync() };
    }

    test('the database remembers the last line, and nothing is wrong after a stop or a crash', async () => {
      await using it = await stage();
      assert.deepEqual(await start(it.database, it.folder, {}), []);
      const head = (await readRemembered(it.database, 'one'))!;
      assert.deepEqual([head.seq, head.hash], [5, linesOf(it.folder).at(-1)!.hash]);
      // As a crash leaves it: lines that the database was not told of.
      {
        await using audit = open(it.folder);
        audit.note(event());
      }
      assert.deepEqual(await verify(it.database, it.folder), { ok: true, problems: [], notes: [] });
      assert.deepEqual(await start(it.database, it.folder, {}), []);
      assert.equal((await verify(it.database, it.folder)).ok, true);
    });

    test('a log that was lost is told by verify, at the start, and in the new log for good', async () => {
      await using it = await stage();
      await start(it.database, it.folder, {});
      for (const file of filesIn(it.folder)) rmSync(join(it.folder, file));
      rmSync(join(it.folder, 'audit-head.json'));
      const lost = /the database recorded line 5 on 2026-05-04T12:00:00\.000Z, but there is no line/;
      assert.match((await verify(it.database, it.folder)).problems.join('\n'), lost);
      const [[said, why]] = (await start(it.database, it.folder, {})) as [[string, string]];
      assert.equal(said, 'audit.lines_missing');
      assert.match(why, lost);
      const line = allLines(it.folder).find(({ operation }) => operation === 'audit.lines_missing')!;
      assert.deepEqual(line.details, {
        remembered_seq: 5,
        remembered_at: '2026-05-04T12:00:00.000Z',
        log_ended_at: 0,
        replaced: false,
      });
      assert.equal(allLines(it.folder)[0]!.seq, 6, 'it goes on from there');
      assert.deepEqual(await start(it.database, it.folder, {}), [], 'it is told once');
      const { ok, problems } = await verify(it.database, it.folder);
      assert.equal(ok, false);
      assert.match(problems.join('\n'), /the database had recorded line 5 .* but the log ended at 0/);
    });

    test('an older log that was put back is told, and so is one of another server', async () => {
      await using it = await stage();
      await start(it.database, it.folder, {});
      cpSync(it.folder, it.copy, { recursive: true });
      await start(it.database, it.folder, { lines: 10 });
      rmSync(it.folder, { recursive: true });
      cpSync(it.copy, it.folder, { recursive: true });
      assert.match(
        (await verify(it.database, it.folder)).problems.join('\n'),
        /recorded line 16 .* the log ends at 5/,
      );
      assert.equal((await start(it.database, it.folder, {}))[0]![0], 'audit.lines_missing');
      const after = await verify(it.database, it.folder);
      assert.match(after.problems.join('\n'), /seq 17 follows 5/);

      await start(it.database, it.copy, { id: 'two' });
      rmSync(it.copy, { recursive: true });
      await start(it.database, it.copy, { id: 'three', lines: 50 });
      assert.match(
        (await verify(it.database, it.copy, 'two')).problems.join('\n'),
        /line \d+ is not the one that the database recorded .*: the log was replaced/,
      );
      assert.match(String((await start(it.database, it.copy, { id: 'two' }))[0]![1]), /the log was replaced/);
    });

    test('a database that is older than the log, and files that have expired, are no alarm', async () => {
      await using it = await stage();
      await start(it.database, it.folder, {});
      await using other = await stage();
      await start(other.database, it.folder, { lines: 5, clock: () => noon + dayMs });
      assert.equal((await verify(it.database, it.folder)).ok, true, 'the database was restored alone');
      rmSync(join(it.folder, 'audit-2026-05-04.jsonl'));
      const { ok, notes } = await verify(it.database, it.folder);
      assert.equal(ok, true);
      assert.match(notes.join('\n'), /it recorded line 5, which has expired here/);
      assert.deepEqual(await start(it.database, it.folder, { clock: () => noon + dayMs }), []);
    });

    test('the database is told of a line only once that is on disk', async () => {
      await using it = await stage();
      const memory = await openAuditMemory({
        database: it.database,
        server: 'one',
        place: 'here',
        folder: it.folder,
        clock: () => noon,
        log: { debug() {}, info() {}, warn() {}, error() {} },
      });
      await using audit = open(it.folder, { memory });
      audit.note(event());
      await memory[Symbol.asyncDispose]();
      assert.equal(await readRemembered(it.database, 'one'), null);
      await audit.flush();
      await memory[Symbol.asyncDispose]();
      const head = JSON.parse(readFileSync(join(it.folder, 'audit-head.json'), 'utf8')) as { seq: number };
      assert.equal((await readRemembered(it.database, 'one'))!.seq, head.seq);
    });
  });

import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { findPostgres, NO_POSTGRES } from '../../ports/database/postgres.testing.ts';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';
import { sampleExecution } from './execution.testing.ts';
import type { Execution } from './executions.ts';
import { runRecord } from '../../server/run-record.ts';
import { ada, bob, openRoom, type RoomOptions, type TestRoom } from './room.testing.ts';

const server = await findPostgres();
after(() => server?.[Symbol.asyncDispose]());

const backends = {
  SQLite: { skip: false as const, location: async () => ':memory:' },
  PostgreSQL: { skip: server === null && NO_POSTGRES, location: () => server!.url() },
};

type Line = ReturnType<typeof runRecord.show> & { user: string };

const day = 86_400_000;
const now = Date.parse('2026-05-04T12:00:00Z');

const execution = (given: Partial<Execution> = {}): Execution => sampleExecution(now, given);

async function keep({ database }: TestRoom, given: Partial<Execution>, server = 'local'): Promise<Execution> {
  const made = execution(given);
  await runRecord.insertRunning(database, made, server, database.sharedClock);
  if (made.reason !== 'running') await runRecord.updateEnded(database, made);
  return made;
}

/** Plain rows at the times 1 to `count`. */
async function fill({ database }: TestRoom, count: number): Promise<void> {
  await database.query(
    `INSERT INTO executions (id, owner, tool, language, code, working_dir, reason, succeeded, started_at, haystack)
     WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})
     SELECT 'exec_' || CAST(100000000000 + n AS TEXT), 'ada', 'execute_code', 'bash', 'x', '/workspace', 'exit', 1, n, 'hay'
     FROM numbers`,
  );
  // As a database does by itself after a while: PostgreSQL plans for an empty table otherwise.
  await database.query('ANALYZE executions');
}

for (const [name, { skip, location }] of Object.entries(backends)) {
  const open = async (options: RoomOptions = {}): Promise<TestRoom> =>
    openRoom({ location: await location(), clock: () => now, sandbox: 'None here.', ...options });
  const ids = async (room: TestRoom, search: object, caller = ada): Promise<string[]> => {
    const page = await room.executions.search(caller, { limit: 100, ...search });
    return page.executions.map(({ id }) => id);
  };

  describe(`executions on ${name}`, { skip }, () => {
    test('code and output that a database cannot hold are stored in another form', async () => {
      await using room = await open();
      const { id } = await keep(room, {
        code: 'a\0b\ud800',
        stdout: '\0\udfff',
        stderr: 'x\0',
        workingDir: '/workspace/\n',
      });
      const found = await room.executions.get(ada, id);
      assert.deepEqual(
        [found.code, found.stdout, found.stderr],
        ['a\u2400b\ufffd', '\u2400\ufffd', 'x\u2400'],
      );
      assert.deepEqual(await ids(room, { text: 'A\0B' }), [id]);
    });

    test('stdin is kept whole and with its size as given, and earlier rows have none', async () => {
      await using room = await open();
      const stdin = `ü${'x'.repeat(2 * 1024 ** 2 - 2)}`;
      const whole = await keep(room, { stdin });
      const found = await room.executions.get(ada, whole.id);
      assert.ok(found.stdin === stdin);
      assert.equal(found.stdinBytes, 2 * 1024 ** 2);
      const odd = await keep(room, { stdin: 'a\0b\ud800' });
      const { stdin: kept, stdinBytes } = await room.executions.get(ada, odd.id);
      assert.deepEqual([kept, stdinBytes], ['a\u2400b\ufffd', 6]);
      await fill(room, 1);
      const old = await room.executions.get(ada, 'exec_100000000001');
      assert.deepEqual([old.stdin, old.stdinBytes], ['', 0]);
    });

    test('runs are paged both ways, and both show the same', async () => {
      await using room = await open();
      await fill(room, 90);
      const all = (await room.executions.search(ada, { limit: 100 })).executions.map(({ id }) => id);
      const place = async (at: number): Promise<string> =>
        `${(await room.executions.get(ada, all[at]!)).startedAt}-${all[at]}`;
      assert.deepEqual(await ids(room, { after: await place(9), limit: 40 }), all.slice(10, 50));
      assert.deepEqual(await ids(room, { before: await place(50), limit: 40 }), all.slice(10, 50));
      assert.deepEqual(await ids(room, { before: await place(5), limit: 40 }), all.slice(0, 5));
      assert.equal((await room.executions.search(ada, { before: await place(5) })).next, null);
      assert.deepEqual(await ids(room, { before: await place(0) }), []);
    });

    test('nobody gets or finds what another ran', async () => {
      await using room = await open();
      const { id } = await keep(room, {});
      assert.equal((await room.executions.get(ada, id)).id, id);
      await assert.rejects(room.executions.get(bob, id), { code: 'not_found' });
      assert.deepEqual(await ids(room, {}, bob), []);
      assert.deepEqual(await ids(room, { after: `${now + 1}-${id}` }, bob), []);
    });

    test('search by text takes it literally, in any case, from code, stdout and stderr', async () => {
      await using room = await open();
      const a = await keep(room, { id: 'exec_00000000000a', code: 'Straße = 100%_!' });
      const b = await keep(room, { id: 'exec_00000000000b', stdout: 'STRASSE\n東京 ÜBER' });
      const c = await keep(room, { id: 'exec_00000000000c', stderr: "it's 1000 \\ x" });
      assert.deepEqual(await ids(room, { text: '100%' }), [a.id]);
      assert.deepEqual(await ids(room, { text: '%_!' }), [a.id]);
      assert.deepEqual(await ids(room, { text: '100' }), [c.id, a.id]);
      assert.deepEqual(await ids(room, { text: 'über' }), [b.id]);
      assert.deepEqual(await ids(room, { text: "IT'S" }), [c.id]);
      assert.deepEqual(await ids(room, { text: '\\' }), [c.id]);
      assert.deepEqual(await ids(room, { text: '_' }), [a.id]);
    });

    test('text is found in the start of the code and of what is shown, and no more of it is kept to be searched', async () => {
      await using room = await open();
      const code = `code-start${'a'.repeat(16_000)}code-middle${'a'.repeat(1_000_000)}code-end`;
      const output = `${'a'.repeat(8000)}output-middle${'a'.repeat(1000)}`;
      const { id } = await keep(room, {
        code,
        stdout: `stdout-start${output}`,
        stderr: `stderr-start${output}`,
      });
      for (const text of ['code-start', 'code-middle', 'stdout-start', 'stderr-start', 'output-middle'])
        assert.deepEqual(await ids(room, { text }), [id], text);
      assert.deepEqual(await ids(room, { text: 'code-end' }), []);
      assert.deepEqual(await ids(room, { text: `${'a'.repeat(499)}b` }), []);
      await keep(room, { code, reason: 'running' });
      const kept = await room.database.query<{ length: number }>(
        'SELECT LENGTH(haystack) AS length FROM executions',
      );
      for (const { length } of kept) assert.ok(length < 33_000, `${length}`);
    });

    test('a search looks at few rows at a time, and others have their turn in between', async () => {
      await using room = await open();
      await fill(room, 1000);
      for (const search of [{ text: 'nowhere' }, { status: 'oom' as const }]) {
        let turns = 0;
        let isOver = false;
        const turn = (): void => void (turns++, isOver || setImmediate(turn));
        setImmediate(turn);
        assert.deepEqual(await ids(room, search), []);
        isOver = true;
        assert.ok(turns >= 1000 / 100, `${turns}`);
      }
    });

    test('a search that has looked at 50,000 rows gives what it has, and can be gone on with', async () => {
      await using room = await open();
      await fill(room, 50_100);
      await room.database.query("UPDATE executions SET haystack = 'needle' WHERE started_at IN (3, 50090)");
      const search = { text: 'needle', limit: 5 };
      const first = await room.executions.search(ada, search);
      const found = ({ executions }: typeof first) => executions.map(({ startedAt }) => startedAt);
      assert.deepEqual(found(first), [50_090]);
      const second = await room.executions.search(ada, { ...search, after: first.next! });
      assert.deepEqual([found(second), second.next], [[3], null]);
    });

    test('pages by text hold every match once, although rows are new, gone, or of the same time', async () => {
      await using room = await open();
      const made: string[] = [];
      for (let n = 0; n < 150; n++) {
        const { id } = await keep(room, {
          startedAt: now - Math.floor(n / 40),
          code: n % 3 === 0 ? 'Needle' : 'hay',
        });
        if (n % 3 === 0) made.push(id);
      }
      const seen: string[] = [];
      for (let after: string | undefined; ;) {
        const page = await room.executions.search(ada, { text: 'needle', limit: 7, after });
        seen.push(...page.executions.map(({ id }) => id));
        if (page.next === null) break;
        after = page.next;
        await room.database.query('DELETE FROM executions WHERE id = ?', seen.at(-1)!);
        await keep(room, { startedAt: now + 1, code: 'needle' });
      }
      assert.deepEqual(seen.toSorted(), made.toSorted());
    });

    test('search by language, status and time', async () => {
      await using room = await open();
      const ok = await keep(room, { startedAt: now - 3 });
      const failed = await keep(room, { startedAt: now - 2, exitCode: 1, language: 'bash' });
      const late = await keep(room, { startedAt: now - 1, reason: 'timeout', exitCode: null });
      const running = await keep(room, { startedAt: now, reason: 'running' });
      assert.deepEqual(await ids(room, {}), [running.id, late.id, failed.id, ok.id]);
      assert.deepEqual(await ids(room, { status: 'ok' }), [ok.id]);
      assert.deepEqual(await ids(room, { status: 'failed' }), [late.id, failed.id]);
      assert.deepEqual(await ids(room, { status: 'timeout' }), [late.id]);
      assert.deepEqual(await ids(room, { status: 'running' }), [running.id]);
      assert.deepEqual(await ids(room, { language: 'bash' }), [failed.id]);
      assert.deepEqual(await ids(room, { since: now - 2, until: now }), [late.id, failed.id]);
      recordProof('D9:row-found-by-search-and-get');
    });

    test('pages hold every execution once, although some are new, gone, or of the same time', async () => {
      await using room = await open();
      const made: string[] = [];
      for (let n = 0; n < 25; n++) made.push((await keep(room, { startedAt: now - Math.floor(n / 10) })).id);
      const seen: string[] = [];
      for (let after: string | undefined; ;) {
        const page = await room.executions.search(ada, { limit: 4, after });
        seen.push(...page.executions.map(({ id }) => id));
        if (page.next === null) break;
        after = page.next;
        await room.database.query('DELETE FROM executions WHERE id = ?', seen.at(-1)!);
        await keep(room, { startedAt: now + 1 });
      }
      assert.deepEqual(seen.toSorted(), made.toSorted());
    });

    test('successes are forgotten after 30 days and failures after 90, and so are journals', async () => {
      await using room = await open();
      const old = { startedAt: now - 31 * day };
      const older = { startedAt: now - 91 * day, exitCode: 1 };
      const kept = [
        await keep(room, { startedAt: now - 29 * day }),
        await keep(room, { ...old, exitCode: 1 }),
        await keep(room, { startedAt: now, reason: 'running' }, 'another'),
      ];
      for (let n = 0; n < 3; n++) await keep(room, old);
      await keep(room, older);
      const logs = join(room.data, 'logs');
      await mkdir(logs);
      const days = [89, 90, 91, 92].map((ago) => new Date(now - ago * day).toISOString().slice(0, 10));
      for (const each of days) await writeFile(join(logs, `executions-${each}.jsonl`), '');
      assert.deepEqual(await room.executions.sweep(), { executions: 4, journals: 2 });
      assert.deepEqual((await ids(room, {})).toSorted(), kept.map(({ id }) => id).toSorted());
      assert.equal((await readdir(logs)).length, 2);
      assert.deepEqual(await room.executions.sweep(), { executions: 0, journals: 0 });
      recordProof('D9:retention-of-rows');
    });

    test('runs that a crash has cut off are lost, with a line in the journal', async () => {
      await using room = await open();
      const cut = await keep(room, { reason: 'running', code: 'Sleep()', startedAt: now - day });
      const whole = await keep(room, {}, 'another');
      assert.equal(await room.executions.recover(), 1);
      const lost = await room.executions.get(ada, cut.id);
      assert.deepEqual([lost.reason, lost.durationMs], ['lost', null]);
      assert.equal(lost.artifacts.complete, false, 'nobody saw what it changed');
      assert.equal((await room.executions.get(ada, whole.id)).reason, 'exit');
      assert.deepEqual(await ids(room, { text: 'sleep', status: 'failed' }), [cut.id]);
      const [file] = await readdir(join(room.data, 'logs'));
      const line = await readFile(join(room.data, 'logs', file!), 'utf8');
      assert.equal((JSON.parse(line) as Line).execution_id, cut.id);
      assert.equal((JSON.parse(line) as Line).artifacts.complete, false);
      assert.equal(await room.executions.recover(), 0);
    });

    test('a run of just now is lost if this server ran it, and of another on SQLite alone', async () => {
      await using room = await open();
      await keep(room, { reason: 'running' }, 'another');
      assert.equal(await room.executions.recover(), name === 'SQLite' ? 1 : 0);
      await keep(room, { reason: 'running' });
      assert.equal(await room.executions.recover(), 1);
    });

    test('what a server that never came back has left running is found lost by the sweep of another', async () => {
      await using room = await open();
      // On SQLite there is no other.
      const other = name === 'SQLite' ? 'local' : 'another';
      const cut = await keep(room, { reason: 'running', startedAt: now - day }, other);
      await room.database.query('UPDATE executions SET seen_at = 0 WHERE id = ?', cut.id);
      const fresh = await keep(room, { reason: 'running' }, 'another');
      await room.executions.sweep();
      assert.equal((await room.executions.get(ada, cut.id)).reason, 'lost');
      assert.equal((await room.executions.get(ada, fresh.id)).reason, 'running');
    });

    test('what was answered is found at once, in the row and in the journal', async () => {
      await using room = await openRoom({ location: await location() });
      const { execution: ran } = await room.run({ code: 'printf "a\\0b\\n"; exit 1', language: 'bash' });
      assert.equal(ran.stdout, 'a\0b\n');
      const found = await room.executions.get(ada, ran.id);
      assert.equal(found.stdout, 'a\u2400b\n');
      assert.deepEqual({ ...found, stdout: '' }, { ...ran, stdout: '' });
      const [file] = await readdir(join(room.data, 'logs'));
      assert.match(file!, /^executions-\d{4}-\d\d-\d\d\.jsonl$/);
      const line = JSON.parse(await readFile(join(room.data, 'logs', file!), 'utf8')) as Line;
      assert.deepEqual(
        [line.execution_id, line.user, line.stdout, line.exit_code],
        [ran.id, 'ada', 'a\0b\n', 1],
      );
    });
  });
}

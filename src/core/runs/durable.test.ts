import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import type { Database } from '../../ports/database/database.ts';
import { openDatabase } from '../../ports/database/open.ts';
import { findPostgres, NO_POSTGRES } from '../../ports/database/postgres.testing.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';
import { sampleExecution } from './execution.testing.ts';
import type { Execution } from './executions.ts';
import { toJournalLine } from './journal.ts';
import { runRecord } from '../../server/run-record.ts';
import { ada, openRoom, until, type RoomOptions, type TestRoom } from './room.testing.ts';

const server = await findPostgres();
after(() => server?.[Symbol.asyncDispose]());

const backends = {
  SQLite: { skip: false as const, location: async () => ':memory:' },
  PostgreSQL: { skip: server === null && NO_POSTGRES, location: () => server!.url() },
};

const day = 86_400_000;
const noon = Date.parse('2026-05-04T12:00:00Z');

interface Line {
  readonly execution_id: string;
  readonly end_reason: string;
  readonly code: string;
}

const logs = ({ data }: TestRoom): string => join(data, 'logs');
const pathOf = (room: TestRoom, time = noon): string =>
  join(logs(room), `executions-${new Date(time).toISOString().slice(0, 10)}.jsonl`);

function linesOf(room: TestRoom): Line[] {
  if (!existsSync(logs(room))) return [];
  return readdirSync(logs(room))
    .sort()
    .flatMap((file) => readFileSync(join(logs(room), file), 'utf8').split('\n'))
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);
}

const told = (room: TestRoom): string[][] =>
  linesOf(room).map(({ execution_id, end_reason }) => [execution_id, end_reason]);

async function keep(room: TestRoom, given: Partial<Execution>, owner = 'local'): Promise<Execution> {
  const made = sampleExecution(given.startedAt ?? noon, given);
  await runRecord.insertRunning(room.database, made, owner);
  if (made.reason !== 'running') await runRecord.updateEnded(room.database, made);
  return made;
}

for (const [name, { skip, location }] of Object.entries(backends)) {
  const open = async (options: RoomOptions = {}): Promise<TestRoom> =>
    openRoom({ location: await location(), clock: () => noon, sandbox: 'None here.', ...options });

  describe(`lines and rows on ${name}`, { skip }, () => {
    test('lines that a loss of power took are written again of the rows, each once', async () => {
      await using room = await open();
      const made: Execution[] = [];
      for (let n = 0; n < 50; n++) made.push(await keep(room, { startedAt: noon + n, code: `# ${n}` }));
      await keep(room, { code: 'elsewhere' }, 'another');
      await room.executions.recover();
      const all = made.map(({ id }) => [id, 'exit']);
      assert.deepEqual(told(room), all);
      const whole = readFileSync(pathOf(room));
      for (const size of [whole.length, whole.length / 2, 10, 0]) {
        truncateSync(pathOf(room), Math.floor(size));
        await using next = await open({
          database: { ...room.database, close: async () => {} },
          data: room.data,
        });
        await next.executions.recover();
        const lines = readFileSync(pathOf(room), 'utf8').trimEnd().split('\n');
        const ids = lines.flatMap((line) => /^\{.*"execution_id":"(\w+)".*\}$/.exec(line)?.[1] ?? []);
        assert.deepEqual(
          ids,
          made.map(({ id }) => id),
          `cut at ${size}`,
        );
        writeFileSync(pathOf(room), whole);
      }
    });

    test('a crash between row and line, or before the row, leaves one line that says what the row says', async () => {
      await using room = await open();
      const ended = await keep(room, { stdout: 'result' });
      const cut = await keep(room, { reason: 'running' });
      for (let starts = 0; starts < 3; starts++) await room.executions.recover();
      assert.deepEqual(
        new Map(told(room) as [string, string][]),
        new Map([
          [ended.id, 'exit'],
          [cut.id, 'lost'],
        ]),
      );
      assert.equal(told(room).length, 2);
      assert.equal(
        await runRecord.updateEnded(room.database, { ...cut, reason: 'exit', endedAt: noon }),
        false,
      );
      assert.equal((await room.executions.get(ada, cut.id)).reason, 'lost');
    });

    test('the lines of successes go with their rows, and those of failures later', async () => {
      let now = noon;
      await using room = await open({
        clock: () => now,
        retention: { successDays: 1, failureDays: 3 },
      });
      const [ok, bad] = [{ code: 'went well' }, { code: 'failed', exitCode: 1 }].map((given) =>
        sampleExecution(noon, given),
      );
      mkdirSync(logs(room));
      writeFileSync(
        pathOf(room),
        `${toJournalLine(runRecord, ok!, false)}{"torn\n${toJournalLine(runRecord, bad!, false)}`,
        {
          mode: 0o600,
        },
      );
      /** A clock that jumps is believed only after a while. */
      const sweepUntil = async (hours: number): Promise<number> => {
        let journals = 0;
        while (now < noon + hours * 3_600_000) {
          now += 3_600_000;
          journals += (await room.executions.sweep()).journals;
        }
        return journals;
      };
      for (const [hours, left] of [
        [35, ['went well', 'failed']],
        [37, ['failed']],
        [60, ['failed']],
        [83, ['failed']],
      ] as const) {
        await sweepUntil(hours);
        const text = readFileSync(pathOf(room), 'utf8');
        assert.deepEqual(
          ['went well', 'failed'].filter((word) => text.includes(word)),
          left,
          `${hours}`,
        );
      }
      assert.equal(await sweepUntil(85), 1);
      assert.deepEqual(readdirSync(logs(room)), []);
      recordProof('D9:retention-of-lines');
    });

    test('a clock that is 100 days ahead for a sweep costs no record', async () => {
      let now = noon;
      await using room = await open({ clock: () => now });
      const kept = await keep(room, {});
      await room.executions.recover();
      await room.executions.sweep();
      now += 100 * day;
      assert.deepEqual(await room.executions.sweep(), { executions: 0, journals: 0 });
      now = noon + 3_600_000;
      await room.executions.sweep();
      assert.equal((await room.executions.get(ada, kept.id)).id, kept.id);
      assert.deepEqual(told(room), [[kept.id, 'exit']]);
    });

    test('an end that cannot be written is written later, and the caller has the result', async (t) => {
      const database = await openDatabase(await location());
      t.after(() => database.close());
      const fault = { isOn: false };
      await using room = await openRoom({ database: failing(database, fault) });
      const running = room.run({ code: 'sleep 0.3; echo done' });
      await until(async () => (await database.query('SELECT 1 FROM executions')).length > 0);
      fault.isOn = true;
      const { execution, isRecorded } = await running;
      assert.deepEqual([execution.stdout, isRecorded], ['done\n', false]);
      assert.equal((await room.executions.get(ada, execution.id)).reason, 'running');
      assert.deepEqual(linesOf(room), []);
      fault.isOn = false;
      await until(async () => (await room.executions.get(ada, execution.id)).reason === 'exit');
      assert.deepEqual(await room.executions.get(ada, execution.id), execution);
      await until(() => linesOf(room).length > 0);
      assert.deepEqual(told(room), [[execution.id, 'exit']]);
      const events = new Set(room.log.map(({ event }) => event));
      assert.ok(events.has('execution.end_not_written') && events.has('execution.end_written'));
    });

    test('a row of this server that is left running is found by the sweep, and a run under way is let be', async () => {
      let now = Date.now();
      await using room = await openRoom({ location: await location(), clock: () => now });
      const stuck = await keep(room, { reason: 'running', startedAt: now });
      const stop = new AbortController();
      const running = room.executions.run(ada, request('sleep 20'), { signal: stop.signal, progress() {} });
      const count = async (): Promise<number> =>
        (await room.database.query("SELECT id FROM executions WHERE reason = 'running'")).length;
      await until(async () => (await count()) === 2);
      now += 120_000;
      await room.executions.sweep();
      assert.equal((await room.executions.get(ada, stuck.id)).reason, 'lost');
      assert.equal(await count(), 1);
      stop.abort();
      assert.equal((await running).execution.reason, 'cancelled');
    });
  });
}

const request = (code: string) => ({
  tool: 'execute_code',
  language: 'bash' as const,
  code,
  stdin: '',
  workingDir: null,
  timeoutMs: null,
  files: [],
});

/** The same database, in which no run can get its end while the fault is on. */
function failing(database: Database, fault: { isOn: boolean }): Database {
  const check = (sql: string): void => {
    if (fault.isOn && /^\s*UPDATE executions/.test(sql))
      throw new WorkcrateError('database_failed', 'The disk does not answer.');
  };
  return {
    ...database,
    async query(sql, ...values) {
      check(sql);
      return database.query(sql, ...values);
    },
    transaction: (work) =>
      database.transaction((tx) =>
        work({
          async query(sql, ...values) {
            check(sql);
            return tx.query(sql, ...values);
          },
        }),
      ),
    close: async () => {},
  };
}

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { openDatabase } from '../../ports/database/open.ts';
import { findPostgres, NO_POSTGRES } from '../../ports/database/postgres.testing.ts';
import { sampleExecution } from './execution.testing.ts';
import type { Execution } from './fields.ts';
import { runRecord } from '../../server/run-record.ts';
import { coreBytesSql, createRecordQuota } from './record-quota.ts';

const server = await findPostgres();
after(() => server?.[Symbol.asyncDispose]());

const backends = {
  SQLite: { skip: false as const, location: async () => ':memory:' },
  PostgreSQL: { skip: server === null && NO_POSTGRES, location: () => server!.url() },
};

const log = { debug() {}, info() {}, warn() {}, error: assert.fail };

for (const [name, { skip, location }] of Object.entries(backends))
  describe(`the share of records on ${name}`, { skip }, () => {
    async function stage(mostBytes: number) {
      const database = await openDatabase(await location());
      let time = 0;
      return {
        share: () =>
          createRecordQuota({ database, record: runRecord, mostBytes, forget: async () => {}, log }),
        async keep(given: Partial<Execution>): Promise<Execution> {
          const made = sampleExecution(++time, given);
          await runRecord.insertRunning(database, made, 'local');
          if (made.reason !== 'running') await runRecord.updateEnded(database, made);
          return made;
        },
        async idsOf(owner: string): Promise<string[]> {
          const rows = await database.query(
            'SELECT id FROM executions WHERE owner = ? ORDER BY started_at',
            owner,
          );
          return rows.map(({ id }) => id as string);
        },
        /** What their rows take, each size once. */
        async bytesOfEach(owner: string): Promise<number[]> {
          const rows = await database.query(
            `SELECT DISTINCT ${coreBytesSql}${runRecord.sizeSql} AS bytes FROM executions WHERE owner = ?`,
            owner,
          );
          return rows.map(({ bytes }) => Number(bytes));
        },
        [Symbol.asyncDispose]: () => database.close(),
      };
    }

    test('the oldest records of a user go when they take more than the share, and nobody else loses any', async () => {
      await using it = await stage(1_000_000);
      const share = it.share();
      const other = await it.keep({ owner: 'bob', code: 'b'.repeat(900_000) });
      const running = await it.keep({ reason: 'running', code: 'r'.repeat(50_000) });
      const made: string[] = [];
      for (let n = 0; n < 40; n++) {
        const execution = await it.keep({ code: 'c'.repeat(50_000), stdin: 's'.repeat(50_000) });
        made.push(execution.id);
        share.add(execution);
        await share.settled();
        assert.ok((await it.idsOf('ada')).length <= 1 + 10, `${n}`);
      }
      const left = await it.idsOf('ada');
      assert.deepEqual(left, [running.id, ...made.slice(-(left.length - 1))]);
      assert.ok(left.length > 5, `${left.length} are left`);
      assert.deepEqual(await it.idsOf('bob'), [other.id]);
    });

    test('records of before are counted at the first run after a start, and one that is too large by itself stays', async () => {
      await using it = await stage(100_000);
      for (let n = 0; n < 30; n++) await it.keep({ code: 'c'.repeat(10_000) });
      const last = await it.keep({ code: 'c'.repeat(10_000) });
      const share = it.share();
      share.add(last);
      await share.settled();
      assert.ok((await it.idsOf('ada')).length <= 10);
      const large = await it.keep({ stdin: 's'.repeat(500_000) });
      share.add(large);
      await share.settled();
      assert.deepEqual(await it.idsOf('ada'), [large.id]);
    });

    test('many small records are measured a part at a time, and as many stay as fit', async () => {
      await using it = await stage(700_000);
      const made: string[] = [];
      let last: Execution | null = null;
      for (let n = 0; n < 1300; n++) made.push((last = await it.keep({})).id);
      const bytes = await it.bytesOfEach('ada');
      assert.equal(bytes.length, 1, 'all take the same');
      const share = it.share();
      share.add(last!);
      await share.settled();
      // A sixteenth of the share is made free for those that come.
      const fitting = Math.floor((700_000 * (15 / 16)) / bytes[0]!);
      assert.ok(fitting > 500 && fitting < 1300, `${fitting}: of more than one part, and not all`);
      assert.deepEqual(await it.idsOf('ada'), made.slice(-fitting));
    });
  });

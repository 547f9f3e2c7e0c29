import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { findPostgres, NO_POSTGRES } from '../../ports/database/postgres.testing.ts';
import { hashDefinition } from '../../core/offer/toolbox.ts';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';
import { makeCall, recordingCalls, refusedCall, searchTool, textResult } from './calls.testing.ts';
import { maxKeptArgumentBytes, maxKeptResultBytes, maxKeptRunBytes, readCallRecord } from './store.ts';
import type { ToolCall } from './runs.ts';
import { describeExecution } from '../../core/runs/record-text.ts';
import { runRecord } from '../../server/run-record.ts';
import { ada, openRoom, shownBounds } from '../../core/runs/room.testing.ts';

const server = await findPostgres();
after(() => server?.[Symbol.asyncDispose]());

const backends = {
  SQLite: { skip: false as const, location: async () => ':memory:' },
  PostgreSQL: { skip: server === null && NO_POSTGRES, location: () => server!.url() },
};

const oddText = 'NUL \0, half \ud800, "quoted"\n';

for (const [name, { skip, location }] of Object.entries(backends))
  describe(`tool calls of runs on ${name}`, { skip }, () => {
    const openCalling = async (calls: readonly ToolCall[], given = {}) =>
      openRoom({ location: await location(), extensions: [recordingCalls(calls)], ...given });
    const countRows = async (room: Awaited<ReturnType<typeof openRoom>>) => {
      const all = await Promise.all(
        ['executions', 'tool_calls', 'offered_tools'].map((table) =>
          room.database.query(`SELECT * FROM ${table}`),
        ),
      );
      return all.map((rows) => rows.length);
    };

    test('are kept with all that was said, and shown in short', async () => {
      const odd = makeCall(3, {
        tool: 'x\0y',
        definitionHash: null,
        arguments: { text: oddText },
        result: textResult(oddText),
        outcome: 'error',
        error: oddText,
      });
      const calls = [makeCall(1), refusedCall(2), odd];
      await using room = await openCalling(calls);
      const { execution } = await room.run({ code: 'true' });
      const record = await readCallRecord(room.database, execution.id);
      assert.deepEqual(record.calls, calls);
      assert.deepEqual(record.tools, [
        {
          name: 'search_index',
          server: 'workcrate',
          nameThere: 'search_index',
          hash: searchTool.hash,
          description: searchTool.description,
          inputSchema: searchTool.inputSchema,
          outputSchema: null,
        },
      ]);
      const inShort = [
        { tool: 'search_index', outcome: 'ok', ms: 1 },
        { tool: 'search_index', outcome: 'refused', ms: 1 },
        { tool: 'x\0y', outcome: 'error', ms: 1 },
      ];
      const found = await room.executions.get(ada, execution.id);
      assert.deepEqual(runRecord.show(found).tool_calls, { count: 3, calls: inShort });
      const view = { output: null, isElsewhere: false, outputFrom: null };
      assert.match(
        describeExecution(runRecord, found, shownBounds, view),
        /^Tool calls: 3: search_index ok 1 ms; search_index refused 1 ms; "x\\u0000y" error 1 ms$/m,
      );
      const logs = join(room.data, 'logs');
      const line = readFileSync(join(logs, readdirSync(logs)[0]!), 'utf8');
      assert.deepEqual(JSON.parse(line).tool_calls, { count: 3, calls: inShort });
      recordProof('F6:calls-are-recorded');
    });

    test('are kept as hashes where they are large, alone or together', async () => {
      const large = makeCall(1, {
        arguments: { query: 'a'.repeat(maxKeptArgumentBytes) },
        result: textResult('b'.repeat(maxKeptResultBytes)),
      });
      const fits = textResult('c'.repeat(maxKeptResultBytes - 100));
      const count = Math.ceil(maxKeptRunBytes / maxKeptResultBytes) + 3;
      const many = Array.from({ length: count }, (_, n) => makeCall(n + 2, { result: fits }));
      await using room = await openCalling([large, ...many]);
      const { execution } = await room.run({ code: 'true' });
      const { calls } = await readCallRecord(room.database, execution.id);
      assert.deepEqual(calls[0], { ...large, arguments: null, result: null });
      assert.equal(calls[0]!.resultHash, hashDefinition(large.result!));
      assert.deepEqual(calls[1], many[0]);
      assert.deepEqual(calls.at(-1), { ...many.at(-1)!, result: null });
      assert.ok(execution.toolCallBytes <= maxKeptRunBytes + 100_000);
      assert.equal(execution.toolCalls!.count, count + 1);
    });

    test('are deleted with their run: when its time is over, and when its user has too many records', async () => {
      let now = Date.UTC(2026, 0, 1);
      const fits = textResult('c'.repeat(maxKeptResultBytes - 100));
      const calls = [makeCall(1, { result: fits }), makeCall(2, { result: fits })];
      await using room = await openCalling(calls, { clock: () => now, recordBytes: 1_500_000 });
      for (let n = 0; n < 5; n++) await room.run({ code: `echo ${n}` });
      // The quota is kept beside the runs.
      for (let n = 0; n < 500 && (await countRows(room))[0]! > 2; n++)
        await new Promise((resolve) => setTimeout(resolve, 10));
      assert.deepEqual(await countRows(room), [2, 4, 2]);
      now += 31 * 86_400_000;
      assert.equal((await room.executions.sweep()).executions, 2);
      assert.deepEqual(await countRows(room), [0, 0, 0]);
    });

    test('a run that called nothing has none', async () => {
      await using room = await openRoom({ location: await location() });
      const { execution } = await room.run({ code: 'true' });
      assert.deepEqual([execution.toolCalls, execution.toolCallBytes], [null, 0]);
      assert.deepEqual(await readCallRecord(room.database, execution.id), { calls: [], tools: [] });
    });
  });

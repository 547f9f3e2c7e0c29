import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NoteRequest } from '../audit/audit.ts';
import { createLog } from '../../platform/observability/log.ts';
import { ada, bob, openRoom } from './room.testing.ts';
import { createExecutionRoutes } from './route.ts';

/** Notes nothing: what is noted is in test/behaviour/audit. */
const noted: NoteRequest = (_asked, work) => work(() => {});

test('GET /executions and /executions/{id} give what the tools give', async () => {
  await using room = await openRoom();
  const log = createLog('off');
  const mine = createExecutionRoutes({ executions: room.executions, callerOf: () => ada, noted, log });
  const others = createExecutionRoutes({ executions: room.executions, callerOf: () => bob, noted, log });
  // oxlint-disable-next-line typescript/no-explicit-any -- a test names the fields that it expects
  const get = async (routes: typeof mine, path: string): Promise<[number, any]> => {
    const response = await routes.request(path);
    assert.equal(response.headers.get('cache-control'), 'no-store');
    return [response.status, await response.json()];
  };
  const first = (await room.run({ code: 'echo 1' })).execution.id;
  const second = (await room.run({ code: 'echo 2; exit 1' })).execution.id;

  const [status, page] = await get(mine, '/executions?limit=1');
  assert.equal(status, 200);
  assert.deepEqual(
    page.executions.map((each: { execution_id: string }) => each.execution_id),
    [second],
  );
  const [, rest] = await get(mine, `/executions?limit=1&after=${page.next}`);
  assert.deepEqual([rest.executions[0].execution_id, rest.next], [first, null]);
  const [, failed] = await get(mine, '/executions?status=failed&text=ECHO&language=bash&since=2020-01-01');
  assert.deepEqual(failed.executions.length, 1);

  const [found, whole] = await get(mine, `/executions/${first}`);
  assert.deepEqual([found, whole.code, whole.stdout], [200, 'echo 1', '1\n']);
  const [gone, error] = await get(others, `/executions/${first}`);
  assert.deepEqual([gone, error.code, typeof error.error], [404, 'not_found', 'string']);
  for (const query of ['limit=0', 'limit=x', 'status=odd', 'since=yesterday', 'after=1', 'odd=1', 'text='])
    assert.equal((await get(mine, `/executions?${query}`))[1].code, 'invalid_input', query);
  assert.deepEqual((await get(mine, '/executions/..%2f'))[0], 400);
});

test('what fails in the database is told without its words', async () => {
  await using room = await openRoom();
  const routes = createExecutionRoutes({
    executions: room.executions,
    callerOf: () => ada,
    noted,
    log: createLog('off'),
  });
  await room.database.query('DROP TABLE executions');
  const response = await routes.request('/executions');
  assert.equal(response.status, 503);
  assert.doesNotMatch(await response.text(), /SQLite|no such table/);
});

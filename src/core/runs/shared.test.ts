import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { loadConfig } from '../../server/settings.ts';
import { findPostgres, NO_POSTGRES } from '../../ports/database/postgres.testing.ts';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';
import { requestCancel } from './executions.ts';
import { ada, openRoom, watching } from './room.testing.ts';

const postgres = await findPostgres();
after(() => postgres?.[Symbol.asyncDispose]());

const plain = { tool: 'execute_code', language: 'bash' as const, stdin: '', workingDir: null, files: [] };
const request = (code: string) => ({ ...plain, code, timeoutMs: null });
const never = new AbortController().signal;

test(
  'a run of another server on the same database is followed, kept, cancelled and found lost',
  { skip: postgres === null && NO_POSTGRES },
  async () => {
    const location = await postgres!.url();
    await using one = await openRoom({ location, server: 'one', orphanGraceMs: 1500 });
    await using other = await openRoom({ location, server: 'other' });
    const begin = (code: string) => one.executions.begin(ada, request(code), watching());

    const short = await begin('echo here; sleep 0.5');
    const seen = await other.executions.follow(ada, short.id, { waitMs: 20_000, signal: never });
    assert.deepEqual([seen.execution.stdout, seen.isElsewhere], ['here\n', false]);

    const long = await begin('echo begun; sleep 30');
    const running = await other.executions.follow(ada, long.id, { waitMs: 0, signal: never });
    assert.deepEqual([running.isElsewhere, running.readOutput(0, 10)], [true, null]);
    long.leave();
    const { execution, wasOver } = await waitUntilAdopted(other, long).then(() =>
      other.executions.cancel(ada, long.id),
    );
    assert.deepEqual([execution.cancelledBy, wasOver], ['cancel_execution', false]);
    assert.deepEqual([execution.stdout, execution.background], ['begun\n', 'adopted']);

    const lost = await begin('echo kept; sleep 30');
    await one.database.query('UPDATE executions SET stdout = ?, seen_at = 0 WHERE id = ?', 'kept\n', lost.id);
    const found = await other.executions.get(ada, lost.id);
    assert.deepEqual([found.reason, found.stdout], ['lost', 'kept\n']);
    lost.cancel('client');
    await lost.ended;
    assert.equal((await one.executions.get(ada, lost.id)).reason, 'lost', 'an end is never replaced');
    recordProof('D17:servers');
  },
);

/** Its owner asks another server for it, and its own finds that when the grace is over. */
async function waitUntilAdopted(
  other: Awaited<ReturnType<typeof openRoom>>,
  run: { readonly id: string; readonly background: string | null },
): Promise<void> {
  for (let n = 0; n < 300 && run.background === null; n++) {
    await other.executions.get(ada, run.id);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

test('runs of a user who is removed end, and their records say why', async () => {
  await using room = await openRoom();
  const run = await room.executions.begin(ada, request('sleep 30'), { ...watching(), background: 'asked' });
  assert.equal(await requestCancel(room.database, { owner: 'bob' }, 'removed_user'), 0);
  assert.equal(await requestCancel(room.database, { owner: 'ada' }, 'removed_user'), 1);
  const { execution } = await run.ended;
  assert.deepEqual([execution.reason, execution.cancelledBy], ['cancelled', 'removed_user']);
  recordProof('D17:removed');
});

test('a run may take hours where the settings say so', async () => {
  const { runMaxTimeout } = loadConfig({ 'run-max-timeout': '24h' }, {}).config;
  assert.equal(runMaxTimeout, 86_400);
  assert.throws(() => loadConfig({ 'run-max-timeout': '25h' }, {}), { code: 'config_invalid' });
  await using room = await openRoom({ maxTimeoutMs: runMaxTimeout * 1000 });
  const { execution } = await room.run({ timeoutMs: 80_000_000 });
  assert.deepEqual([execution.limits.timeoutMs, execution.reason], [80_000_000, 'exit']);
  recordProof('D17:hours');
});

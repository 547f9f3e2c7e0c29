import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventually } from '../../src/platform/eventually.testing.ts';
import { recordProof } from '../requirements/requirements.testing.ts';
import { run, serve, temporaryFolder } from '../behaviour/cli/program.testing.ts';
import { noSandbox } from '../code.testing.ts';
import { createTaskClient, isTaskOver, tasksExtension, type Came } from './tasks.testing.ts';
import { startTeam } from '../behaviour/users/team.testing.ts';

const sleepAndSay = (seconds: number, text: string) => ({
  language: 'bash',
  code: `echo started; sleep ${seconds}; echo ${text}`,
});

const few = { warmPython: 0, warmNode: 0, warmBash: 1, sandbox: 'bubblewrap' } as const;

/** Tasks that are over, as the log has them. */
const countEnded = (logged: readonly string[]): number =>
  logged.filter((line) => line.includes('task.ended')).length;

describe('tasks of two users', { skip: noSandbox }, () => {
  it('a run that lasts is a task of its user alone: told, listened to, cancelled, ended with its user', async () => {
    await using team = await startTeam(few);
    const [ann, bob] = await Promise.all(
      ['ann', 'bob'].map(async (name) => createTaskClient(team.url, { bearer: await team.key(name) })),
    );
    const plain = createTaskClient(team.url, { bearer: await team.key('cat'), hasTasks: false });

    const { result: found } = await ann!.ask('server/discover', {});
    assert.deepEqual(found.capabilities.extensions[tasksExtension], {});
    const short = await ann!.call('list_files', {});
    assert.equal(short['resultType'], 'complete', 'no task of a tool that does not last');

    const begun = await ann!.call('execute_code', sleepAndSay(2, 'finished'));
    assert.equal(begun['resultType'], 'task');
    const { taskId } = begun;
    const told: Came[] = [];
    for await (const message of ann!.listen([taskId, 'task_made_up'])) told.push(message);
    const [acknowledged, ...rest] = told;
    assert.deepEqual(acknowledged!['params'].notifications, { taskIds: [taskId] });
    assert.deepEqual(
      rest
        .filter(({ method }) => method === 'notifications/tasks')
        .map(({ params }) => params.status)
        .at(-1),
      'completed',
    );
    assert.equal(told.at(-1)!['result'].resultType, 'complete', 'it ends with the last of its tasks');
    const ended = await ann!.getTask(taskId);
    assert.deepEqual([ended['resultType'], ended['status']], ['complete', 'completed']);
    assert.match(ended['result'].content[0].text, /^started\nfinished\n\[exec_/);

    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      const params = { inputResponses: {} };
      const [theirs, none] = await Promise.all(
        [taskId, `task_${'x'.repeat(32)}`].map((id) => bob!.ask(method, { ...params, taskId: id })),
      );
      assert.deepEqual(theirs!['error'], none!['error'], 'as unknown as a made-up one');
      assert.equal(theirs!['error'].code, -32_602);
      const refused = await plain.ask(method, { ...params, taskId });
      assert.deepEqual(
        [refused['error'].code, refused['error'].data],
        [-32_021, { requiredCapabilities: { extensions: { [tasksExtension]: {} } } }],
      );
    }
    for (const id of [5, null, {}, '', 'x'.repeat(5000), `' OR owner = 'ann`])
      assert.equal(
        (await ann!.ask('tasks/get', { taskId: id }))['error'].code,
        -32_602,
        JSON.stringify(id).slice(0, 20),
      );
    const listening: Came[] = [];
    for await (const message of bob!.listen([taskId])) listening.push(message);
    assert.deepEqual(listening[0]!['params'].notifications, { taskIds: [] });
    for await (const message of plain.listen([taskId])) assert.equal(message['error'].code, -32_021);
    const waited = await plain.call('execute_code', sleepAndSay(1, 'waited'));
    assert.equal(waited['resultType'], 'complete', 'a client without tasks gets its result');

    const long = await ann!.call('execute_code', sleepAndSay(60, 'never'));
    assert.match(
      (await ann!.until(long['taskId'], ({ statusMessage }) => statusMessage !== undefined))['status'],
      /working/,
    );
    assert.deepEqual(
      (await ann!.ask('tasks/cancel', { taskId: long['taskId'] }))['result'].resultType,
      'complete',
    );
    const cancelled = await ann!.until(long['taskId'], isTaskOver);
    assert.deepEqual([cancelled['status'], cancelled['result']], ['cancelled', undefined]);
    const [execution_id] = /exec_[0-9a-f]{12}/.exec(cancelled['statusMessage'])!;
    const shown = await ann!.call('get_execution', { execution_id });
    assert.match(shown['content'][0].text, /cancelled/, 'its run is recorded, and ended');

    const left = await ann!.call('execute_code', sleepAndSay(60, 'never'));
    const { stdout } = await run(['user', 'rotate', 'ann', '--scopes', 'files', '--data', team.config.data]);
    const narrow = createTaskClient(team.url, { bearer: /^wck_\S+$/m.exec(stdout)![0] });
    const forbidden = await narrow.ask('tasks/get', { taskId: left['taskId'] });
    assert.match(forbidden['error'].message, /does not have the scope code/);
    for await (const message of narrow.listen([left['taskId']]))
      if (message['method'] !== undefined) assert.deepEqual(message['params'].notifications, { taskIds: [] });
    assert.equal((await run(['user', 'remove', 'ann', '--data', team.config.data])).code, 0);
    assert.equal((await narrow.post('tasks/get', { taskId: left['taskId'] })).status, 401);
    const again = createTaskClient(team.url, { bearer: await team.key('ann') });
    const unknown = await again.ask('tasks/get', { taskId: left['taskId'] });
    assert.equal(unknown['error'].code, -32_602, 'a new user of the same name has nothing of the old one');
    await eventually(async () => countEnded(team.logged) === 3);
  });
});

it('after a kill, results are there and what was running is told as lost', { skip: noSandbox }, async () => {
  await using folder = await temporaryFolder();
  const start = () =>
    serve(['--data', folder.path, '--log-level', 'warn'], { env: { WORKCRATE_SANDBOX: 'auto' } });
  const tasks: string[] = [];
  {
    await using program = await start();
    const client = createTaskClient(program.url);
    const [short, long] = await Promise.all([
      client.call('execute_code', sleepAndSay(1, 'kept')),
      client.call('execute_code', sleepAndSay(60, 'never')),
    ]);
    tasks.push(short!['taskId'], long!['taskId']);
    await client.until(tasks[0]!, isTaskOver);
    await program.end('SIGKILL');
  }
  await using program = await start();
  const client = createTaskClient(program.url);
  const [kept, lost] = await Promise.all(tasks.map((taskId) => client.getTask(taskId)));
  assert.match(kept!['result'].content[0].text, /kept/);
  assert.deepEqual([lost!['status'], lost!['error'].code], ['failed', -32_603]);
  recordProof('D17:mcp-tasks');
});

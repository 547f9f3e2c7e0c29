import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import { noSandbox } from '../../code.testing.ts';
import { createTaskClient, isTaskOver, type Came } from '../../conformance/tasks.testing.ts';
import { startTeam, type Team } from './team.testing.ts';

const made = noSandbox === false ? await startTeam() : noSandbox;
const skip = typeof made === 'string' && made;
const team = made as Team;
after(() => (skip === false ? team[Symbol.asyncDispose]() : undefined));

it('a task of one server is shown, listened to and cancelled at another', { skip }, async () => {
  const args = ['--sandbox', 'bubblewrap', '--warm-python', '0', '--warm-node', '0', '--warm-bash', '1'];
  const [one, two] = await Promise.all([team.start(args), team.start(args)]);
  const [atOne, atTwo] = [createTaskClient(one.url), createTaskClient(two.url)];
  const begin = async (seconds: number): Promise<string> => {
    const code = `echo begun; sleep ${seconds}; echo ended`;
    return (await atOne.call('execute_code', { language: 'bash', code }))['taskId'];
  };
  const [short, long] = await Promise.all([begin(3), begin(120)]);
  const told: Came[] = [];
  for await (const message of atTwo.listen([short])) told.push(message);
  const { status, result } = told.at(-2)!['params'];
  assert.equal(status, 'completed');
  assert.match(result.content[0].text, /^begun\nended\n/);
  await atTwo.until(long, ({ statusMessage }) => statusMessage === 'begun');
  await atTwo.ask('tasks/cancel', { taskId: long });
  assert.equal((await atTwo.until(long, isTaskOver))['status'], 'cancelled');
});

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { eventually } from '../../platform/eventually.testing.ts';
import { isQuestion } from '../../core/offer/tool.ts';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';
import { hostile, isAlive, openTestGateway, toContext } from './gateway.testing.ts';

const one = (flags: readonly string[] = [], more: object = {}) => ({
  mcpServers: { bad: hostile(flags, more) },
});

it('a server that dies in the middle of a call fails that call, and comes back for the next', async () => {
  await using it = await openTestGateway(one());
  const before = await it.call('bad_pid');
  assert.match(
    await it.call('bad_die'),
    /^upstream_failed: The server bad .* ended with exit code 3\. Call again/,
  );
  const after = await it.call('bad_pid');
  assert.match(after, /^\d+$/);
  assert.notEqual(after, before);
  const noted = it.audited.find(({ operation }) => operation === 'bad_die')!;
  assert.equal(noted.result, 'upstream_failed');
  assert.equal(noted.details!['server'], 'bad');
  assert.match(String(noted.details!['hash']), /^[0-9a-f]{64}$/);
  recordProof('F3:a-server-that-dies-comes-back');
});

it('one that ends again and again is started again with growing pauses', async () => {
  await using it = await openTestGateway(one());
  const answers: string[] = [];
  for (let time = 0; time < 4; time++) answers.push(await it.call('bad_die'));
  assert.match(answers.at(-1)!, /ends again and again\. It is tried again in \d+ s\./);
});

it('a second answer to a call is ignored, and the connection goes on', async () => {
  await using it = await openTestGateway(one());
  const pid = await it.call('bad_pid');
  assert.equal(await it.call('bad_twice'), 'first');
  assert.equal(await it.call('bad_pid'), pid);
});

it('a call that is never answered ends after the time limit of its server', async () => {
  await using it = await openTestGateway(one([], { timeout: 500 }));
  assert.match(await it.call('bad_never'), /^upstream_timeout: The server bad .* did not answer in time/);
});

it('a call that its client cancels is cancelled at the server', async () => {
  await using it = await openTestGateway(one());
  await it.call('bad_pid');
  const stop = new AbortController();
  const called = it.ask('bad_never', {}, { signal: stop.signal });
  setTimeout(() => stop.abort(), 200);
  await called;
  await eventually(() => it.logged.some((line) => line.includes('"text":"cancelled')));
  assert.equal(it.audited.at(-1)!.result, 'cancelled');
});

for (const [tool, told] of [
  ['flood', /since it sent more than 2000 messages in a second/],
  ['long', /since it sent a message of more than/],
] as const)
  it(`a server that pours out ${tool} output is ended, and told so`, async () => {
    await using it = await openTestGateway(one());
    const pid = Number(await it.call('bad_pid'));
    assert.match(await it.call(`bad_${tool}`), told);
    await eventually(() => !isAlive(pid));
    assert.match(await it.call('bad_pid'), /^\d+$/);
  });

it('an answer that is nested too deeply is refused, and the server stays', async () => {
  await using it = await openTestGateway(one());
  assert.match(await it.call('bad_deep'), /^upstream_failed: .* nested too deeply/);
  assert.match(await it.call('bad_pid'), /^\d+$/);
});

it('a failure of a tool is passed on as one, and a server that prints to stdout is heard all the same', async () => {
  await using it = await openTestGateway(one(['--noisy']));
  const answer = await it.ask('bad_fail');
  assert.ok(!isQuestion(answer) && answer.isError === true);
  assert.equal(it.audited.at(-1)!.result, 'tool_failed');
});

it('a server that ends when it is asked in a new version is started again in an old one', async () => {
  await using it = await openTestGateway(one(['--dies-of-unknown']));
  assert.match(await it.call('bad_pid'), /^\d+$/);
});

it('hostile names become names that clients take, or are left out with the reason', async () => {
  await using it = await openTestGateway(one(['--hostile-list']));
  const names = await it.list();
  for (const name of names) assert.match(name, /^[a-zA-Z0-9_-]{1,64}$/);
  assert.equal(new Set(names).size, names.length);
  assert.ok(names.includes('bad___proto__'));
  assert.equal(names.filter((name) => name.startsWith('bad_xxxx')).length, 2);
  const long = (await it.gateway.toolbox.list(toContext({}))).find(({ name }) => name.startsWith('bad_xxx'))!;
  assert.match(long.description, /Its name on the server bad is "x{20}/);
  const [report] = await it.gateway.report('ann');
  const refused = report!.refused.join('\n');
  assert.match(refused, /its name cannot be shown/);
  assert.match(refused, /"pid": the server lists it twice/);
  assert.match(refused, /"huge": its definition has more than 256 KB/);
  assert.ok(!names.includes('bad_huge') && !names.includes('bad_nested'));
  recordProof('F3:prefixes-that-fit');
});

it('a name that belongs to our own tools or to another server is refused, with the remedy', async () => {
  const file = { mcpServers: { execute: hostile(), bad: hostile(), bad_pid: hostile() } };
  await using it = await openTestGateway(file, { ownTools: () => new Set(['execute_count']) });
  const names = await it.list();
  assert.ok(!names.includes('execute_count') && names.includes('execute_pid'));
  assert.ok(!names.includes('bad_pid_') && names.includes('bad_pid_pid'));
  const [execute] = await it.gateway.report('ann');
  assert.match(
    execute!.refused.join(),
    /execute_count belongs to a tool of Workcrate itself\. Give .* another "prefix"/,
  );
  assert.match(await it.call('execute_count').catch(String), /not_found|There is no tool/);
  recordProof('F3:collisions-told-with-the-remedy');
});

it('a changed definition is held back until it is accepted, and shown as a difference', async () => {
  await using it = await openTestGateway(one());
  assert.ok((await it.list()).includes('bad_evil'));
  await it.call('bad_change');
  await eventually(async () => !(await it.list()).includes('bad_evil'));
  assert.match(await it.call('bad_evil'), /^tool_changed: .*gateway accept bad/);
  const [held] = await it.pins.listHeld();
  assert.match(held!.held, /sends all your files/);
  assert.ok(it.logged.some((line) => line.includes('gateway.tool_held')));
  assert.ok(
    it.audited.some(({ operation, subject }) => operation === 'gateway_definition' && subject === 'evil'),
  );
  assert.deepEqual(await it.pins.accept('bad', 'pid'), []);
  assert.deepEqual(await it.pins.accept('bad', 'evil'), ['evil']);
  assert.equal(await it.call('bad_evil'), 'ran');
  assert.ok((await it.list()).includes('bad_evil'));
  recordProof('F3:changed-definitions-are-held-back');
});

it('a server that is new may correct what it said at first, until a tool of it is called', async () => {
  await using it = await openTestGateway(one(['--corrects']));
  const describe = async () =>
    (await it.gateway.toolbox.list(toContext({}))).find(({ name }) => name === 'bad_evil')?.description;
  assert.equal(await describe(), 'Does it.');
  await eventually(async () => (await describe()) === 'Does it. Corrected.');
  assert.deepEqual(await it.pins.listHeld(), []);
  await it.call('bad_change');
  await eventually(async () => (await describe()) === undefined);
  assert.equal((await it.pins.listHeld()).length, 1);
});

it('each user has a connection of their own', async () => {
  await using it = await openTestGateway(one());
  assert.equal(await it.call('bad_count'), '1');
  assert.equal(await it.call('bad_count'), '2');
  assert.equal(await it.call('bad_count', {}, { user: 'bob' }), '1');
  assert.equal(it.gateway.countConnections(), 2);
  recordProof('F3:a-connection-for-each-user');
});

it('users and clients see the tools that the rules allow them, and no others', async () => {
  const rules = {
    deny: ['di?'],
    users: { ann: {}, 'b*': { allow: ['p*', 'count'] } },
    clients: { evil: { deny: ['*'] }, '*': {} },
  };
  await using it = await openTestGateway(one([], rules));
  assert.ok(!(await it.list()).includes('bad_die') && (await it.list()).includes('bad_slow'));
  assert.deepEqual((await it.list({ user: 'bob' })).toSorted(), ['bad_count', 'bad_pid']);
  assert.deepEqual(await it.list({ user: 'carol' }), []);
  assert.deepEqual(await it.list({ client: { name: 'evil 2.0' } }), []);
  assert.match(await it.call('bad_slow', {}, { user: 'bob' }), /^not_found/);
  assert.match(await it.call('bad_pid', {}, { user: 'carol' }), /^not_found/);
  recordProof('F3:allowed-by-user-and-client');
});

it('a connection that nobody uses is closed, with its process', async () => {
  await using it = await openTestGateway(one(), { idleMs: 300 });
  const pid = Number(await it.call('bad_pid'));
  await eventually(() => !isAlive(pid));
  assert.match(await it.call('bad_pid'), /^\d+$/);
});

it('where there are too many connections, the one that was not used for longest is closed', async () => {
  await using it = await openTestGateway(one(), { mostConnections: 1 });
  const pid = Number(await it.call('bad_pid'));
  await it.call('bad_pid', {}, { user: 'bob' });
  await eventually(() => !isAlive(pid));
});

it('the file is read again when it changes, and calls that are under way are answered', async () => {
  await using it = await openTestGateway(one());
  const pid = Number(await it.call('bad_pid'));
  const slow = it.call('bad_slow');
  await it.write({ mcpServers: { other: hostile() } });
  await eventually(async () => (await it.list()).includes('other_pid'));
  assert.ok(!(await it.list()).includes('bad_pid'));
  assert.equal(await slow, 'done');
  await eventually(() => !isAlive(pid));
  await writeFile(join(it.folder, 'servers.json'), '{"mcpServers": {"a b": ');
  await eventually(() => it.logged.some((line) => line.includes('gateway.not_reloaded')));
  assert.match(await it.call('other_pid'), /^\d+$/);
  recordProof('F3:reload-without-losing-calls');
});

it('a question of a server reaches the client, and the answer the server', async () => {
  await using it = await openTestGateway(one());
  const capabilities = { elicitation: { form: {} } };
  const question = await it.ask('bad_ask', {}, { client: { capabilities } });
  assert.ok(isQuestion(question));
  assert.match(JSON.stringify(question.ask), /The server bad asks: Who are you\?/);
  const content = { name: 'Ann' };
  const answer = () => ({ kind: 'elicit', action: 'accept', content }) as const;
  const again = { capabilities, state: question.state, answer };
  assert.match(await it.call('bad_ask', {}, { user: 'bob', client: again }), /^client_timeout/);
  assert.equal(
    await it.call('bad_ask', {}, { client: again }),
    '{"action":"accept","content":{"name":"Ann"}}',
  );
  assert.equal(await it.call('bad_ask'), '{"action":"decline"}');
});

it('roots and sampling are refused', async () => {
  await using it = await openTestGateway(one());
  for (const tool of ['bad_roots', 'bad_sample']) assert.match(await it.call(tool), /-32601/);
});

it('no secret of a server is in answers, the log, the audit or the list', async () => {
  process.env['TEST_GATEWAY_KEY'] = 'k3y-0f-the-server';
  const env = { SERVER_KEY: '${TEST_GATEWAY_KEY}' };
  await using it = await openTestGateway(one(['--talks'], { env }));
  const answer = await it.call('bad_key');
  assert.match(answer, /bad key \[secret\]/);
  await eventually(() => it.logged.some((line) => line.includes('my key is [secret]')));
  const all = JSON.stringify([answer, it.logged, it.audited, await it.gateway.toolbox.list(toContext({}))]);
  assert.ok(!all.includes('k3y-0f-the-server'));
  recordProof('F3:no-credentials-in-what-is-shown');
});

/**
 * Makes the data folder that `upgrade.test.ts` opens, with the program of an older commit:
 *
 *   git worktree add --detach OLD COMMIT && (cd OLD && npm ci)
 *   node test/properties/upgrade/make-data-folder.ts OLD/src/cli.ts fixtures/data-folders/COMMIT
 *
 * It does a bit of everything as two users, is killed while code runs, and writes down what the old program says of it.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { run, serve, type Program } from '../../behaviour/cli/program.testing.ts';
import { createTaskClient, isTaskOver } from '../../conformance/tasks.testing.ts';
import { connect, readState, serverArguments, type Member } from './state.testing.ts';

const [oldProgram, name] = process.argv.slice(2);
assert.ok(oldProgram !== undefined && name !== undefined, 'give the old program and the name of the fixture');
const options = {
  program: [process.execPath, resolve(oldProgram)],
  env: { WORKCRATE_SANDBOX: 'bubblewrap', WORKCRATE_ALLOW_SANDBOX: '' },
};
const folder = mkdtempSync(join(tmpdir(), 'workcrate-old-'));
const data = join(folder, 'data');

const addUser = async (user: string): Promise<string> => {
  const scopes = 'code,artifacts,files,crates,documents,skills,scripts,validation,packages';
  const { stdout, stderr } = await run(['user', 'add', user, '--data', data, '--scopes', scopes], options);
  const key = /wck_[\w-]+/.exec(stdout)?.[0];
  assert.ok(key !== undefined, stdout + stderr);
  return key;
};
const keys = { ada: await addUser('ada'), bob: await addUser('bob') };

async function work(server: Program): Promise<string[]> {
  await using ada = await connect(server.url, keys.ada);
  await using bob = await connect(server.url, keys.bob);
  const rights = await makeFiles(server, ada);
  await makeRuns(ada, bob);
  await makeSessions(ada);
  await makeScripts(ada);
  await makeCrates(ada);
  return rights;
}

/** Gives URLs whose answers are part of the state. */
async function makeFiles(server: Program, ada: Member): Promise<string[]> {
  const fileId = await send(ada, 'numbers.csv', 'a,b\n1,2\n3,4\n');
  const other = await send(ada, 'ünïcode, "quoted".txt', 'text');
  const shared = await ada.call('share_file', { file_id: fileId, ttl_seconds: 86_400 });
  const once = await ada.call('share_file', { file_id: other, ttl_seconds: 86_400, single_use: true });
  const used = await ada.call('share_file', { file_id: other, ttl_seconds: 86_400, single_use: true });
  await (await fetch(used['downloadUrl'])).arrayBuffer();
  const bundle = await ada.call('bundle_files', { file_ids: [fileId, other], filename: 'both.zip' });
  const revoked = await ada.call('share_file', { file_id: fileId });
  await ada.call('revoke_link', { token: revoked['token'] });
  await ada.call('request_upload', { filename: 'never-sent.bin', size: 10 });
  await ada.call('execute_code', {
    language: 'python',
    code: "print(open('numbers.csv').read()); open('/artifacts/copy.csv','w').write(open('numbers.csv').read())",
    files: [fileId],
  });
  return [shared, once, used, bundle, revoked].map(({ downloadUrl }) =>
    (downloadUrl as string).slice(server.url.length),
  );
}

async function send(member: Member, filename: string, text: string): Promise<string> {
  const { uploadUrl } = await member.call('request_upload', { filename });
  const answer = await fetch(uploadUrl as string, { method: 'PUT', body: text });
  return ((await answer.json()) as { file_id: string }).file_id;
}

async function makeRuns(ada: Member, bob: Member): Promise<void> {
  const python = (code: string, more: object = {}) =>
    ada.call('execute_code', { language: 'python', code, ...more });
  await python("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)");
  await python('x = 20\nx + 22');
  await python('import time; time.sleep(9)', { timeout_ms: 700 });
  await python("print('x' * 30000)");
  await ada.call('execute_code', {
    language: 'node',
    code: "console.log('node', 1 + 1)",
    working_dir: '/workspace/shared',
  });
  await ada.call('execute_bash', {
    command: 'echo from bash > /artifacts/note.txt; mkdir -p /workspace/tree/a; echo b > /workspace/tree/a/b',
  });
  await python('from mcp import list_files\nprint(1)', { tools: ['list_files'] });
  await bob.call('execute_code', { language: 'bash', code: 'echo of bob | tee /artifacts/bob.txt' });
  const background = await python('import time\nfor i in range(3): print(i, flush=True); time.sleep(0.2)', {
    background: true,
  });
  await ada.call('get_execution', { execution_id: background['execution_id'], wait_ms: 20_000 });
}

async function makeSessions(ada: Member): Promise<void> {
  for (const session of ['kept', 'closed', 'open']) {
    await ada.call('execute_code', { language: 'python', session_id: session, code: `name = '${session}'` });
    await ada.call('execute_code', { language: 'python', session_id: session, code: 'name * 2' });
  }
  await ada.call('manage_session', { action: 'checkpoint', session_id: 'kept', name: 'first' });
  await ada.call('close_session', { session_id: 'closed' });
}

async function makeScripts(ada: Member): Promise<void> {
  const script = { name: 'double', description: 'Doubles a number', language: 'python', tags: ['maths'] };
  await ada.call('save_script', {
    ...script,
    code: 'import json, sys; print(json.load(sys.stdin)["n"] * 2)',
  });
  await ada.call('save_script', {
    ...script,
    code: 'import json, sys; print(2 * json.load(sys.stdin)["n"])',
  });
  await ada.call('run_script', { name: 'double', args: { n: 21 } });
}

async function makeCrates(ada: Member): Promise<void> {
  const code = "open('/artifacts/walk.txt','w').write('a random walk\\n')";
  const { execution_id } = await ada.call('execute_code', { language: 'python', code });
  await ada.call('pack_crate', { execution_id, title: 'A random walk', description: 'Of forty steps' });
  await ada.call('pack_crate', { session_id: 'closed', title: 'A closed session' });
}

/** Tasks of MCP: one is kept with its result, one with its failure. */
async function makeTasks(server: Program): Promise<string[]> {
  const tasks = createTaskClient(server.url, { bearer: keys.ada });
  const begun = await Promise.all(
    ['sleep 1; echo done', 'sleep 1; exit 4'].map((code) =>
      tasks.call('execute_code', { language: 'bash', code }),
    ),
  );
  for (const { taskId } of begun) await tasks.until(taskId as string, isTaskOver);
  return begun.map(({ taskId }) => taskId as string);
}

const target = resolve(name);
rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });
const server = await serve(serverArguments(data), options);
const rights = await work(server);
const tasks = await makeTasks(server);
// It is killed while a run, two sessions and a task are under way, and looked at by the same program.
const client = createTaskClient(server.url, { bearer: keys.ada });
const lost = await client.call('execute_code', { language: 'bash', code: 'echo begun; sleep 60' });
tasks.push(lost['taskId'] as string);
await pause(3000);
await server.end('SIGKILL');
execFileSync('tar', ['-C', folder, '--exclude=ballast', '-czf', join(target, 'data.tar.gz'), 'data']);
const madeAt = Date.now();
await using again = await serve(serverArguments(data), options);
const made = { keys, rights, tasks };
const state = await readState(again.url, made);
await again.end('SIGTERM');
writeFileSync(join(target, 'state.json'), `${JSON.stringify({ madeAt, made, state }, null, 2)}\n`);
rmSync(folder, { recursive: true, force: true });

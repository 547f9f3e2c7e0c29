import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, readFile, readdir, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';
import {
  environment,
  fromSource,
  run,
  serve,
  temporaryFolder,
  type Program,
} from '../cli/program.testing.ts';
import { call, refuse, say, startEndpoint, type Reaction } from './endpoint.testing.ts';

const key = 'sk-test-0123456789abcdef';
const root = join(import.meta.dirname, '../../..');

const withCode = ['--sandbox', 'subprocess', '--allow-sandbox', 'subprocess'];

describe('workcrate ask', () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;
  let server: Program;
  before(async () => {
    folder = await temporaryFolder();
    server = await serve(['--data', join(folder.path, 'data'), ...withCode]);
  });
  after(async () => {
    await server[Symbol.asyncDispose]();
    await folder[Symbol.asyncDispose]();
  });

  async function ask(reactions: readonly Reaction[], ...words: string[]) {
    await using endpoint = await startEndpoint(...reactions);
    const where = ['--endpoint', endpoint.url, '--model', 'scripted', '--url', server.url];
    const env = { WORKCRATE_API_KEY: key };
    const ended = await run(['ask', ...words, ...where], { env, cwd: folder.path });
    return { ...ended, endpoint };
  }

  it('prints the answer, and on stderr what it does and what it used', async () => {
    const { code, stdout, stderr, endpoint } = await ask(
      [call('list_files'), say('There are none.')],
      'Files?',
    );
    assert.equal(code, 0, stderr);
    assert.equal(stdout, 'There are none.\n');
    const lines = stderr.split('\n');
    assert.equal(lines[0], '→ list_files {}');
    assert.match(lines[1]!, /^← ok: ".+"$/);
    assert.equal(
      lines[2],
      '2 steps, 2 tokens in, 2 out (step 1: 1 tokens in, 1 out; step 2: 1 tokens in, 1 out)',
    );
    assert.equal(endpoint.headers[0]!.authorization, `Bearer ${key}`);
    recordProof('F5:shows-what-it-does');
  });

  it('an answer that drives a terminal is printed as plain characters', async () => {
    const { stdout } = await ask([say('red: \u001b[31m\nnext\u0007')], 'Colours?');
    assert.equal(stdout, 'red: \\u001b[31m\nnext\\u0007\n');
  });

  it('without somebody to ask, a sensitive call is refused; --yes allows it, --yes=GLOB those that fit', async () => {
    const script = [call('delete_file', { file_id: 'file_000000000000' }), say('Done.')];
    const refused = await ask(script, 'Delete it');
    assert.match(refused.stderr, /← refused: "The person did not allow this call/);
    for (const yes of ['--yes', '--yes=delete_*']) {
      const allowed = await ask(script, yes, 'Delete it');
      assert.match(allowed.stderr, /← failed: /, allowed.stderr);
    }
    const other = await ask(script, '--yes=list_*', 'Delete it');
    assert.match(other.stderr, /← refused: /);
  });

  it('the key is nowhere, though the endpoint repeats it', async () => {
    const repeat = refuse(401, { message: `Incorrect API key provided: ${key}` });
    for (const more of [[], ['--json']]) {
      const { code, stdout, stderr } = await ask([repeat], 'Files?', ...more);
      assert.equal(code, 1);
      assert.match(stderr, /^workcrate: The endpoint does not accept the key\. .*WORKCRATE_API_KEY/m);
      assert.ok(!`${stdout}${stderr}`.includes(key), stdout + stderr);
    }
    const said = await ask([say(`Your key is ${key}`)], 'What is my key?', '--json');
    assert.ok(!said.stdout.includes(key), said.stdout);
    assert.ok(!server.output.stderr.includes(key));
    const printed = await run(['--print-config'], { env: { WORKCRATE_API_KEY: key } });
    assert.match(printed.stdout, /# api_key: \(set, not shown\)/);
    recordProof('F5:key-never-shown');
  });

  it('--json is one document, also where it failed', async () => {
    const { stdout, code } = await ask(
      [call('list_files'), refuse(400, { message: 'no' })],
      'Files?',
      '--json',
    );
    assert.equal(code, 1);
    const told = JSON.parse(stdout) as {
      answer: unknown;
      error: { class: string; remedy: string };
      steps: unknown[];
    };
    assert.equal(told.answer, null);
    assert.equal(told.error.class, 'bad_request');
    assert.equal(told.steps.length, 1);
  });

  it('a file is sent before, and what the links lead to is saved where --output says, under new names', async () => {
    const path = join(folder.path, 'numbers.csv');
    await writeFile(path, 'a,b\n1,2\n');
    const share: Reaction = (response, body, request) => {
      const [id] = /file_\w{8,}/.exec(JSON.stringify(body.messages)) ?? [''];
      return call('share_file', { file_id: id })(response, body, request);
    };
    const output = join(folder.path, 'saved');
    for (const name of ['numbers.csv', 'numbers-2.csv']) {
      const { code, stdout, stderr } = await ask(
        [share, say('Here.')],
        'Share it',
        '--file',
        path,
        '--output',
        output,
      );
      assert.equal(code, 0, stderr);
      assert.match(
        stdout,
        /^Here\.\n\nLinks\n {2}numbers\.csv: http:\/\/127\.0\.0\.1:\d+\/files\/\S{43}, saved as /,
      );
      assert.equal(await readFile(join(output, name), 'utf8'), 'a,b\n1,2\n');
    }
    assert.deepEqual((await readdir(output)).toSorted(), ['numbers-2.csv', 'numbers.csv']);
  });

  it('wrong words are mistakes, told before anything is asked', async () => {
    const wrong: readonly [string[], RegExp][] = [
      [['Files?', '--steps', '0'], /--steps takes a whole number from 1 to 200/],
      [['Files?', '--temperature', 'hot'], /--temperature takes a number from 0 to 1/],
      [['Files?', '--file', 'none.csv'], /--file takes a file that can be read, not none\.csv/],
    ];
    for (const [words, message] of wrong) {
      const { code, stderr, endpoint } = await ask([say('?')], ...words);
      assert.equal(code, 2, stderr);
      assert.match(stderr, message);
      assert.equal(endpoint.requests.length, 0);
    }
  });

  it('without an endpoint or a model it says what to set', async () => {
    const none = await run(['ask', 'Files?']);
    assert.equal(none.code, 2);
    assert.match(none.stderr, /ask needs a model: set --endpoint URL and --model NAME\. .*OpenAI-compatible/);
    const noModel = await run(['ask', 'Files?', '--endpoint', 'http://127.0.0.1:1/v1']);
    assert.match(noModel.stderr, /set --model NAME\./);
    recordProof('F5:without-an-endpoint-a-clear-message');
  });

  it('a server that does not answer is told', async () => {
    const where = ['--endpoint', 'http://127.0.0.1:1/v1', '--model', 'm', '--url', 'http://127.0.0.1:1'];
    const { code, stderr } = await run(['ask', 'Files?', ...where]);
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^workcrate: The server at http:\/\/127\.0\.0\.1:1 did not answer as an MCP server\./,
    );
  });

  /** Asks, and interrupts it once something has come about. */
  async function interrupt(reaction: Reaction, isTime: (requests: number) => boolean | Promise<boolean>) {
    await using endpoint = await startEndpoint(reaction);
    const [program, ...first] = fromSource;
    const where = ['--endpoint', endpoint.url, '--model', 'm', '--url', server.url];
    const args = [...first, 'ask', 'Files?', '--yes', ...where];
    const child = spawn(program!, args, { env: environment, stdio: 'ignore', timeout: 120_000 });
    await eventually(() => isTime(endpoint.requests.length));
    child.kill('SIGINT');
    const [code] = (await once(child, 'close')) as [number];
    await eventually(async () => (await endpoint.countConnections()) === 0);
    return code;
  }

  it('Ctrl-C ends the request to the model, with the exit code 130', async () => {
    const code = await interrupt(
      () => {},
      (requests) => requests === 1,
    );
    assert.equal(code, 130);
  });

  it('Ctrl-C ends the call of a tool, and the run behind it', async () => {
    const sleep = call('execute_code', { language: 'bash', code: 'sleep 300 # until it is interrupted' });
    const findRun = async (): Promise<string> => {
      const { text } = await server.call('search_executions', {});
      return /.*until it is interrupted/.exec(text)?.[0] ?? '';
    };
    const code = await interrupt(sleep, async () => /: running/.test(await findRun()));
    assert.equal(code, 130);
    await eventually(async () => !/: running/.test(await findRun()));
    assert.match(await findRun(), /: cancelled/);
    recordProof('F5:cancelled');
  });

  it('a server that dies in the middle of a call is told', async () => {
    await using own = await serve(['--data', join(folder.path, 'other'), ...withCode]);
    const sleep = call('execute_code', { language: 'bash', code: 'sleep 300' });
    await using endpoint = await startEndpoint((response, body, request) => {
      sleep(response, body, request);
      setTimeout(() => void own.end('SIGKILL'), 500);
    });
    const where = ['--endpoint', endpoint.url, '--model', 'm', '--url', own.url];
    const { code, stderr } = await run(['ask', 'Sleep', '--yes', ...where]);
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^workcrate: The connection to the Workcrate server broke\. .*Check that the server runs/m,
    );
  });
});

it('what a server gives is saved in a new folder, and under names that nothing runs by itself', async () => {
  await using folder = await temporaryFolder();
  const names = ['.envrc', '-rf', 'sitecustomize.py', 'plain.txt'];
  const saved = ['_.envrc', '_-rf', '_sitecustomize.py', 'plain.txt'];
  await Promise.all(names.map((name) => writeFile(join(folder.path, name), `of ${name}`)));
  const share =
    (at: number): Reaction =>
    (response, body, request) => {
      const ids = [...new Set(JSON.stringify(body.messages).match(/file_[0-9a-f]{24}/g))];
      return call('share_file', { file_id: ids[at] })(response, body, request);
    };
  // A folder of that name may lead anywhere.
  await symlink(tmpdir(), join(folder.path, 'workcrate-files'));
  await using endpoint = await startEndpoint(share(0), share(1), share(2), share(3), say('Here.'));
  const where = ['--endpoint', endpoint.url, '--model', 'm', '--data', join(folder.path, 'data')];
  const given = names.map((name) => `--file=./${name}`);
  const words = ['ask', 'Share them', ...given, ...where];
  const { code, stdout, stderr } = await run(words, { cwd: folder.path, env: { WORKCRATE_API_KEY: key } });
  assert.equal(code, 0, stderr);
  for (const name of saved) assert.ok(stdout.includes(`saved as workcrate-files-2/${name}\n`), stdout);
  assert.deepEqual((await readdir(join(folder.path, 'workcrate-files-2'))).toSorted(), saved.toSorted());
});

it('with no server running it starts one, whose links are saved before it ends', async () => {
  await using folder = await temporaryFolder();
  const share: Reaction = (response, body, request) => {
    const [id] = /file_\w{8,}/.exec(JSON.stringify(body.messages)) ?? [''];
    return call('share_file', { file_id: id })(response, body, request);
  };
  await using endpoint = await startEndpoint(share, say('Here.'));
  await writeFile(join(folder.path, 'a.txt'), 'hello');
  const where = ['--endpoint', endpoint.url, '--model', 'm', '--data', join(folder.path, 'data')];
  const words = ['ask', 'Share it', '--file', 'a.txt', '--output', 'saved', ...where];
  const { code, stdout, stderr } = await run(words, { cwd: folder.path, env: { WORKCRATE_API_KEY: key } });
  assert.equal(code, 0, stderr);
  assert.match(stdout, /saved as saved\/a\.txt\n$/);
  assert.equal(await readFile(join(folder.path, 'saved/a.txt'), 'utf8'), 'hello');
  const left = await listProcessesOf(join(folder.path, 'data'));
  assert.deepEqual(left, []);
  recordProof('F5:starts-a-server');
});

/** The processes that name a folder on their command line. */
async function listProcessesOf(folder: string): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')),
  );
  return lines.filter((line) => line.includes(folder));
}

it('without its packages it names the command that installs them', async () => {
  await using folder = await temporaryFolder();
  for (const name of ['src', 'packages', 'package.json'])
    await cp(join(root, name), join(folder.path, name), { recursive: true });
  await mkdir(join(folder.path, 'node_modules'));
  for (const name of await readdir(join(root, 'node_modules')))
    if (!['ai', '@ai-sdk', 'workcrate', '@workcrate'].includes(name))
      await symlink(join(root, 'node_modules', name), join(folder.path, 'node_modules', name));
  await symlink('..', join(folder.path, 'node_modules/workcrate'));
  await symlink('../packages', join(folder.path, 'node_modules/@workcrate'));
  const program = [process.execPath, join(folder.path, 'src/main.ts')];
  const words = ['ask', 'Files?', '--endpoint', 'http://127.0.0.1:1/v1', '--model', 'm'];
  const { code, stderr } = await run(words, { program });
  assert.equal(code, 2, stderr);
  assert.equal(
    stderr,
    'workcrate: ask needs packages that are not installed. Run: npm install ai@7 @ai-sdk/openai-compatible@3\n',
  );
  const help = await run(['ask', '--help'], { program });
  assert.equal(help.code, 0);
  const { dependencies, optionalDependencies, peerDependenciesMeta } = JSON.parse(
    await readFile(join(root, 'packages/ask/package.json'), 'utf8'),
  ) as Record<string, Record<string, unknown>>;
  for (const name of ['ai', '@ai-sdk/openai-compatible']) {
    assert.ok(!Object.hasOwn({ ...dependencies, ...optionalDependencies }, name), name);
    assert.deepEqual(peerDependenciesMeta![name], { optional: true });
  }
  recordProof('F5:packages-optional');
});

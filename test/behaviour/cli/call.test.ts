import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { fromSource, run, serve, temporaryFolder, type Program } from './program.testing.ts';

const withCode = ['--sandbox', 'subprocess', '--allow-sandbox', 'subprocess'];

describe('workcrate call', () => {
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
  const call = (...words: string[]) => run(['call', ...words, '--url', server.url], { cwd: folder.path });

  it('prints the text of the answer and nothing else', async () => {
    const { code, stdout, stderr } = await call('execute_code', 'language=python', 'code=print(6 * 7)');
    assert.match(stdout, /^42\n\[exec_[0-9a-f]{12}: exit code 0 after [\d.]+ m?s\]\n/);
    assert.deepEqual([code, stderr], [0, '']);
  });

  it('finds the server by the data folder, and takes a URL with /mcp', async () => {
    const byFolder = await run(['call', 'list_files', '--data', join(folder.path, 'data')]);
    const byUrl = await run(['call', 'list_files', '--url', `${server.url}/mcp`]);
    for (const { code, stdout } of [byFolder, byUrl]) assert.deepEqual([code, stdout !== ''], [0, true]);
    assert.equal(byFolder.stdout, byUrl.stdout);
  });

  it('without a tool it lists them, each with its first sentence', async () => {
    const { stdout } = await call();
    assert.match(stdout, /^execute_code +[A-Z][^\n]+\.$/m);
    assert.match(stdout, /^share_file /m);
  });

  it('takes code from a file and from standard input', async () => {
    await writeFile(join(folder.path, 'main.py'), 'print("from a file")');
    const fromFile = await call('execute_code', 'language=python', 'code=@main.py');
    assert.match(fromFile.stdout, /^from a file\n/);
    const program = ['sh', '-c', 'echo "print(1 + 1)" | "$@"', 'sh', ...fromSource];
    const words = ['call', 'execute_code', 'language=python', 'code=-', '--url', server.url];
    assert.match((await run(words, { program })).stdout, /^2\n/);
  });

  it('numbers, booleans and lists have the types that the tool wants', async () => {
    const run = await call('execute_code', 'language=bash', 'code=cat < a.txt; sleep 9', 'timeout_ms=300');
    assert.match(run.stdout, /timed out|time limit|300 ms/i);
    const found = await call('list_files', 'limit=1', '--json');
    assert.deepEqual(Object.keys(JSON.parse(found.stdout) as object).toSorted(), ['files', 'next']);
  });

  it('a tool that fails has its text on stderr and the exit code 1', async () => {
    const { code, stdout, stderr } = await call('get_artifact', 'name=none.png');
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, /^Artifact not found: none\.png/);
  });

  it('a tool, a key and a file that are not there are mistakes, with the ones that were meant', async () => {
    const tool = await call('lst_files');
    assert.match(tool.stderr, /^workcrate: There is no tool "lst_files"\. Did you mean list_files\?/);
    const key = await call('list_files', 'limt=1');
    assert.match(key.stderr, /^workcrate: list_files has no key "limt"\. Did you mean limit\?/);
    const file = await call('execute_code', 'language=python', 'code=@none.py');
    assert.match(file.stderr, /^workcrate: "none\.py" cannot be read \(ENOENT\)\./);
    for (const { code, stdout } of [tool, key, file]) assert.deepEqual([code, stdout], [2, '']);
  });

  it('a picture is saved where --output says, under a new name each time', async () => {
    const png =
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    const first = await call('execute_code', 'language=bash', 'code=true');
    // Without walls, code sees the real folder.
    const [, artifacts] = /\/artifacts is (\S+?)[,.]?\s/.exec(first.stdout)!;
    await writeFile(join(artifacts!, 'dot.png'), Buffer.from(png, 'base64'));
    const told = await call('get_artifact', 'name=dot.png', 'show=true');
    assert.match(told.stderr, /^A picture came with it \(image\/png, .+\)\. --output FOLDER saves it\.\n$/);
    for (const count of [1, 2]) {
      const saved = await call('get_artifact', 'name=dot.png', 'show=true', '--output', folder.path);
      assert.match(saved.stderr, new RegExp(`picture-${count}\\.png\n$`));
      const bytes = await readFile(join(folder.path, `picture-${count}.png`));
      assert.equal(bytes.toString('base64'), png);
    }
  });
});

it('a server with keys is asked with one', async () => {
  await using folder = await temporaryFolder();
  const data = join(folder.path, 'data');
  const { stdout } = await run(['user', 'add', 'ada', '--data', data]);
  const key = /wck_[\w-]{43}/.exec(stdout)![0];
  await using server = await serve(['--data', data, '--auth', 'keys']);
  const words = ['call', 'list_files', '--url', server.url];
  const none = await run(words);
  assert.deepEqual(
    [none.code, none.stderr],
    [1, 'workcrate: The server requires a key. Set WORKCRATE_KEY to your key.\n'],
  );
  const wrong = await run([...words, '--key', 'wck_wrong']);
  assert.match(wrong.stderr, /does not know this key/);
  assert.equal((await run(words, { env: { WORKCRATE_KEY: key } })).code, 0);
  assert.equal((await run([...words, '--key', key])).code, 0);
});

it('where nothing answers, the command to start a server is named', async () => {
  const { code, stderr } = await run(['call', 'list_files', '--url', 'http://127.0.0.1:1']);
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^workcrate: Nothing answers at http:\/\/127\.0\.0\.1:1\. .*npx workcrate serve starts one/,
  );
});

it('where the server ends during a call, it says that the call may have been done', async () => {
  await using folder = await temporaryFolder();
  await using server = await serve(['--data', join(folder.path, 'data'), ...withCode]);
  const at = ['--url', server.url];
  const called = run(['call', 'execute_code', 'language=bash', 'code=exec sleep 100', ...at]);
  await eventually(async () => {
    const { data } = await server.call('search_executions', { status: 'running' });
    return data.executions.length === 1;
  });
  await server.end('SIGKILL');
  const { code, stderr } = await called;
  assert.equal(code, 1);
  assert.ok(
    stderr.startsWith(`workcrate: The connection to ${server.url} broke off before the answer`),
    stderr,
  );
  assert.match(stderr, /may have been done.* call search_executions/);
});

/** Answers as no Workcrate does to this command: a question, a stream in pieces, and no MCP at all. */
async function startOtherServer(answer: (method: string) => { type: string; body: string }) {
  const server = createServer((request, response) => {
    const { type, body } = answer(String(request.headers['mcp-method']));
    request.resume().on('end', () => response.writeHead(200, { 'Content-Type': type }).end(body));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: async () => void server.close() };
}

const toMessage = (result: object): string => JSON.stringify({ jsonrpc: '2.0', id: 1, result });
const oneTool = { tools: [{ name: 'ask', inputSchema: { type: 'object' } }] };

it('a question of the server is told in words', async () => {
  const question = { method: 'elicitation/create', params: { message: 'Which file?' } };
  const asking = { resultType: 'input_required', inputRequests: { one: question } };
  await using server = await startOtherServer((method) => ({
    type: 'application/json',
    body: toMessage(method === 'tools/list' ? oneTool : asking),
  }));
  const { code, stderr } = await run(['call', 'ask', '--url', server.url]);
  assert.equal(code, 1);
  assert.equal(
    stderr,
    'workcrate: The tool asks a question, which this command cannot answer: Which file?\n',
  );
});

it('an event stream with comments, progress and line ends of any kind is read to its result', async () => {
  const progress = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"message":"half"}}';
  const result = toMessage({ content: [{ type: 'text', text: 'done' }] });
  await using server = await startOtherServer((method) => ({
    type: method === 'tools/list' ? 'application/json' : 'text/event-stream; charset=utf-8',
    body:
      method === 'tools/list'
        ? toMessage(oneTool)
        : `: alive\r\n\r\nevent: message\r\nid: 1\r\ndata: ${progress}\r\n\r\ndata: ${result}\n\n`,
  }));
  const { code, stdout, stderr } = await run(['call', 'ask', '--url', server.url]);
  assert.deepEqual([code, stdout, stderr], [0, 'done\n', '']);
});

it('what is no MCP server is said to be none', async () => {
  await using server = await startOtherServer(() => ({ type: 'text/html', body: '<h1>Hello</h1>' }));
  const { code, stderr } = await run(['call', 'ask', '--url', server.url]);
  assert.equal(code, 1);
  assert.match(stderr, /^workcrate: The server at http:\S+ gave no answer of MCP 2026-07-28 \(HTTP 200\)\./);
});

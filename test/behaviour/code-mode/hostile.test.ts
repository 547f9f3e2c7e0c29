import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { noSandbox } from '../../code.testing.ts';
import { openCallsBench, playToolbox, say, type CallsBench } from './bench.testing.ts';

const echo = playToolbox('play', { echo: async ({ text }) => say(String(text)) });

/** Each is sent as it is, and then a call is tried. */
const forged: Readonly<Record<string, string>> = {
  'a length of 4 GB': String.raw`b'\xff\xff\xff\xff' + b'x' * 100`,
  'a length of 1 MB and one byte': String.raw`struct.pack('>I', (1 << 20) + 1)`,
  'no JSON': String.raw`frame(b'\x00\x01\x02')`,
  'half a character': String.raw`frame(b'"\xff"')`,
  'JSON that is no object': `frame(b'[1, 2, 3]')`,
  'nothing at all': `frame(b'')`,
  'no tool': `frame(b'{"id": 1}')`,
  'an id that is no number': `frame(b'{"id": "1", "call": "play_echo", "arguments": {}}')`,
  'arguments that are a list': `frame(b'{"id": 1, "call": "play_echo", "arguments": []}')`,
  'a field that there is not': `frame(b'{"id": 1, "call": "play_echo", "arguments": {}, "grant": "*"}')`,
  'a name of 100,000 characters': `frame(b'{"id": 1, "call": "' + b'x' * 100000 + b'", "arguments": {}}')`,
  'lists in lists, 100,000 deep': `frame(b'{"id": 1, "call": "play_echo", "arguments": {"a": ' + b'[' * 100000 + b']' * 100000 + b'}}')`,
};

const forge = (bytes: string): string => `import os, struct
from mcp._workcrate import call, ToolError
def frame(body): return struct.pack('>I', len(body)) + body
try: os.write(5, ${bytes})
except OSError: pass
try: print('called', call('play_echo', {'text': 'x'}))
except ToolError as error: print(error.text)`;

describe('hostile code that calls tools', { skip: noSandbox }, () => {
  let bench: CallsBench;
  before(async () => void (bench = await openCallsBench()));
  after(() => bench?.[Symbol.asyncDispose]());

  for (const [name, bytes] of Object.entries(forged))
    it(`forged frames: ${name} ends the connection, and nothing else`, async () => {
      const got = await bench.run('python', forge(bytes), echo);
      assert.match(got.out, /^The run sent .* to the server, so it can call no more tools\.\n$/, got.err);
      assert.deepEqual(got.calls, []);
    });

  it('forged frames: half a frame is waited for, and forgotten with the run', async () => {
    const got = await bench.run('python', 'import os\nos.write(5, b\'\\x00\\x00\\x01\\x00{"id"\')', echo);
    assert.deepEqual([got.reason, got.exitCode, got.calls], ['exit', 0, []]);
    assert.equal((await bench.run('python', callEcho, echo)).out, 'hello\n');
    recordProof('F6:forged-frames-end-the-channel');
  });

  it('100,000 calls: the budget is called, the rest is refused, then nothing is read any more', async () => {
    let called = 0;
    const counting = playToolbox('play', { echo: async () => say(`${++called}`) });
    const code = `from mcp._workcrate import call, ToolError
told = {}
for number in range(100000):
    try: call('play_echo', {})
    except ToolError as error: told[error.text] = told.get(error.text, 0) + 1
for text, count in told.items(): print(count, text)`;
    const got = await bench.run('python', code, counting, { mostCalls: 50 });
    assert.equal(called, 50);
    assert.equal(
      got.out,
      '450 The run has made its 50 calls of tools. Ask for more at once, or have the operator raise --tool-calls.\n' +
        '99500 The run has asked the server too often, so it can call no more tools.\n',
      got.err,
    );
    assert.equal(got.calls.length, 50);
    recordProof('F6:budget-of-calls');
  });

  it('at most eight calls run at once, and the others wait', async () => {
    let [now, most] = [0, 0];
    const slow = playToolbox('play', {
      wait: async () => {
        most = Math.max(most, ++now);
        await new Promise((resolve) => setTimeout(resolve, 30));
        now--;
        return say('done');
      },
    });
    const code = `import { wait } from '/tools/mcp/play/index.mjs';
console.log((await Promise.all(Array.from({ length: 40 }, () => wait()))).length);`;
    const got = await bench.run('node', code, slow);
    assert.deepEqual([got.out, most], ['40\n', 8], got.err);
    recordProof('F6:eight-calls-at-once');
  });

  it('a run that reads no answers is given no more than a few', async () => {
    let called = 0;
    const large = playToolbox('play', { large: async () => say('x'.repeat(900_000) + ++called) });
    const code = `import json, os, struct, time
for number in range(100):
    body = json.dumps({'id': number, 'call': 'play_large', 'arguments': {}}).encode()
    os.write(5, struct.pack('>I', len(body)) + body)
time.sleep(1.5)`;
    const got = await bench.run('python', code, large);
    assert.equal(got.exitCode, 0, got.err);
    assert.ok(called <= 12, `${called} calls`);
  });

  it('another run and its descriptor are out of reach, and so is the socket of the server', async () => {
    const waiting = playToolbox('play', { echo: async () => say('mine') });
    const spy = `import glob, os, socket
found = [path for path in glob.glob('/proc/[0-9]*/fd/*') if path.split('/')[2] not in (str(os.getpid()), 'self')]
print([path for path in found if os.path.exists(path) and 'socket' in os.readlink(path)])
knock = socket.socket(socket.AF_UNIX)
try: knock.connect('/opt/workcrate/gate'); print('connected')
except OSError: print('closed')
knock.close()
for number in range(3, 64):
    if number == 5: continue
    try: print(number, os.readlink('/proc/self/fd/%d' % number)) if 'socket' in os.readlink('/proc/self/fd/%d' % number) else None
    except OSError: pass`;
    const other = `from mcp._workcrate import call\nimport time\nfor _ in range(20): call('play_echo', {}); time.sleep(0.05)`;
    const [got] = await Promise.all([bench.run('python', spy, waiting), bench.run('python', other, waiting)]);
    assert.equal(got.out, '[]\nclosed\n', got.err);
    recordProof('F6:no-other-run-reaches-it');
  });

  it('a child that keeps the descriptor calls nothing after the end', async () => {
    let called = 0;
    const counting = playToolbox('play', { echo: async () => say(`${++called}`) });
    const code = `import json, os, struct, time
os.set_inheritable(5, True)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in range(50):
            time.sleep(0.1)
            body = json.dumps({'id': number, 'call': 'play_echo', 'arguments': {}}).encode()
            os.write(5, struct.pack('>I', len(body)) + body)
    os._exit(0)
time.sleep(0.25)`;
    const got = await bench.run('python', code, counting);
    const atEnd = called;
    await new Promise((resolve) => setTimeout(resolve, 600));
    assert.deepEqual([got.reason, called], ['exit', atEnd]);
    recordProof('F6:ends-with-the-run');
  });

  it('a forked child is told that it cannot call', async () => {
    const code = `import os, sys
from mcp._workcrate import call, ToolError
print(call('play_echo', {'text': 'parent'}), flush=True)
if os.fork() == 0:
    try: call('play_echo', {'text': 'child'})
    except ToolError as error: print(error.text, flush=True)
    os._exit(0)
os.wait()
print(call('play_echo', {'text': 'parent again'}))`;
    const got = await bench.run('python', code, echo);
    assert.equal(
      got.out,
      'parent\nTools are called by the process that the run began with, not by others.\nparent again\n',
      got.err,
    );
  });

  it('no secret of a server is in the environment, the files or the processes of a run', async () => {
    const secret = `secret-${'7f'.repeat(12)}`;
    const guarded = playToolbox('play', { echo: async () => say(String(secret.length)) });
    const code = `import glob, os
from mcp._workcrate import call
call('play_echo', {})
found = []
for path in glob.glob('/proc/*/environ') + glob.glob('/proc/*/cmdline') + glob.glob('/tools/**', recursive=True) + glob.glob('/opt/workcrate/**', recursive=True):
    try:
        if b'secret-' + b'7f' * 12 in open(path, 'rb').read(): found.append(path)
    except OSError: pass
print(sorted(os.environ), found)`;
    const got = await bench.run('python', code, guarded);
    const names = `'HOME', 'LANG', 'MATPLOTLIBRC', 'PATH', 'PYTHONHASHSEED', 'SOURCE_DATE_EPOCH', 'TERM', 'TMPDIR', 'USER'`;
    assert.equal(got.out, `[${names}] []\n`, got.err);
    recordProof('F6:credentials-stay-outside');
  });

  it('cancelling the run cancels its calls', async () => {
    const began = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    const endless = playToolbox('play', {
      wait: async (_, { signal }) => {
        began.resolve();
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
        ended.resolve();
        return { isError: true, ...say('It was cancelled.') };
      },
    });
    const stopping = new AbortController();
    const running = bench.run('python', "from mcp._workcrate import call\ncall('play_wait', {})", endless, {
      signal: stopping.signal,
    });
    await began.promise;
    stopping.abort();
    assert.equal((await running).reason, 'cancelled');
    await ended.promise;
    recordProof('F6:cancelled-with-the-run');
  });
});

const callEcho = "from mcp._workcrate import call\nprint(call('play_echo', {'text': 'hello'}))";

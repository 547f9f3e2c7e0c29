import assert from 'node:assert/strict';
import { closeSync, openSync, readFileSync, readSync } from 'node:fs';
import { describe, it } from 'node:test';
import { startInside } from './session.testing.ts';

/** Finds the socket to the router, as any code can. */
const findConnection = `import os, json, struct
own = max(fd for fd in map(int, os.listdir('/proc/self/fd')) if os.path.exists(f'/proc/self/fd/{fd}') and 'socket' in os.readlink(f'/proc/self/fd/{fd}'))
def send(header, payload=b''):
    text = json.dumps(header).encode()
    os.write(own, struct.pack('>II', len(text), len(payload)) + text + payload)
`;

describe('code in a session that attacks what runs it', () => {
  it('breaks its output streams and names, and the next cell works', async () => {
    await using session = await startInside('python');
    for (const code of [
      'import sys, os, builtins\nsys.stdout.close()',
      'os.close(1)\nos.close(2)',
      'sys.stdout = sys.stderr = sys.stdin = None',
      'sys.stdout = sys.__stdout__; sys.stderr = sys.__stderr__; builtins.print = None; builtins.display = None',
      'import io\nbuiltins.print = lambda *values: io.TextIOWrapper.write(sys.stdout, " ".join(values) + "\\n")\nclass Odd:\n    def write(self, text): raise SystemExit\n    flush = None\nsys.stdout = Odd()',
      'sys.stdout = sys.__stdout__\nos.closerange(3, 400)',
      'import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)',
      'def later(*_): raise ValueError("late")\nsignal.signal(signal.SIGALRM, later)\nsignal.setitimer(signal.ITIMER_REAL, 0.01)',
      'import time\ntime.sleep(0.02)\nsys.modules.clear()\nsys.meta_path.clear()',
    ]) {
      const { last } = await session.send(code);
      assert.equal(last['type'], 'done', `${code}\n${session.explain()}`);
    }
    assert.equal(await session.value('40 + 2'), '42');
    const { last } = await session.interrupt('print("busy")\nwhile True: pass', /busy/);
    assert.equal(last['status'], 'interrupted');
  });

  it('exits: the session ends with its code, after its buffers have been written', async () => {
    for (const [code, status] of [
      ['import sys; sys.exit(3)', 3],
      ['raise SystemExit("a text")', 1],
      ['exit()', 0],
      ['quit(256 + 7)', 7],
    ] as const) {
      await using session = await startInside('python');
      const { last } = await session.send(`f = open('kept.txt', 'w'); f.write('x')\n${code}`);
      assert.deepEqual([last['status'], last['code']], ['exit', status], code);
      const { last: end } = await session.wait(({ type }) => type === 'ended');
      assert.deepEqual([end['branch'], end['code']], ['main', status]);
    }
  });

  it('ends at once, or by a signal: no end of a cell is told, only that of the branch', async () => {
    for (const [code, status] of [
      ['import os; os._exit(5)', 5],
      ['import os, signal; os.kill(os.getpid(), signal.SIGSEGV)', -11],
    ] as const) {
      await using session = await startInside('python');
      const { last } = await session.send(code);
      assert.deepEqual([last['type'], last['code'], 'why' in last], ['ended', status, false]);
    }
  });

  it('kills its parent: all of the session is gone', async () => {
    await using session = await startInside('python');
    const gone = new Promise((resolve) => session.process.once('exit', (_, signal) => resolve(signal)));
    session.write({
      id: 1,
      cell: {
        branch: 'main',
        number: 1,
        code: 'import os, signal, time\nos.kill(os.getppid(), signal.SIGKILL)\ntime.sleep(0.5)\nopen("alive", "w")',
      },
    });
    assert.equal(await gone, 'SIGKILL');
    assert.deepEqual(
      session.reports.map(({ header }) => header['type']),
      ['ready'],
    );
  });

  it('forks: a child that comes to the end of the code ends there, and is no second session', async () => {
    await using session = await startInside('python');
    const forked =
      'import os\nprint("both")\npid = os.fork()\nif pid: os.waitpid(pid, 0)\nos.getpid() == own';
    await session.send('import os; own = os.getpid()');
    assert.equal(await session.value(forked), 'True');
    const failing = await session.send('if os.fork() == 0: raise ValueError("in the child")\nos.wait()[1]');
    assert.equal(failing.results[0]!['text'], '256');
    assert.equal(await session.value('if os.fork() == 0: os._exit(0)\nos.wait()[1]'), '0');
    assert.equal(session.reports.filter(({ header }) => header['type'] === 'done').length, 4);
  });

  it('forges reports: they count as its own results, of the cell that runs, and within bounds', async () => {
    await using session = await startInside('python');
    const { all, results } = await session.send(`${findConnection}
for i in range(500): send({'type': 'result', 'cell': 99, 'kind': 'value', 'text': 'forged', 'parts': []})
for kind in ('answer', 'ended', 'ready', 'done'): send({'type': kind, 'to': 1, 'branch': 'main', 'cell': 77, 'ok': True})
send({'type': 'ready', 'pid': 1})
send({'type': 'refused', 'why': 'x'})`);
    assert.ok(results.length <= 100);
    assert.ok(results.every(({ cell }) => cell === 1));
    assert.ok(
      all.every(({ type }) => type === 'result' || type === 'done'),
      JSON.stringify(all.slice(-3)),
    );
    assert.equal(await session.value('1'), '1');
  });

  it('sends what is no message, or closes the connection: the session ends, and says why', async () => {
    for (const [code, why] of [
      ["os.write(own, b'x' * 100)", 'forged'],
      ["os.write(own, struct.pack('>II', 1 << 31, 0))", 'forged'],
      ["os.write(own, struct.pack('>II', 60000, 0) + b'[' * 60000)", 'forged'],
      ["os.write(own, struct.pack('>II', 9, 0) + b'{\"a\":NaN}')", 'forged'],
      ["os.write(own, struct.pack('>II', 2, 0) + b'[]')", 'forged'],
      ['os.close(own)', 'control'],
    ] as const) {
      await using session = await startInside('python');
      const { last } = await session.send(`${findConnection}${code}\nimport time\ntime.sleep(100)`);
      assert.deepEqual([last['type'], last['code'], last['why']], ['ended', -9, why], code);
    }
  });

  it('knows no secret: it is nowhere in the memory of a branch', async () => {
    await using session = await startInside('python');
    const pid = Number(await session.value('import os\nos.getpid()'));
    assert.deepEqual(
      countInMemory(pid, [session.secret, Buffer.from(session.secret.toString('hex'))]),
      [0, 0],
    );
    // It would be found if it were there.
    await session.send(`known = '${session.secret.toString('hex')}'`);
    assert.ok(countInMemory(pid, [Buffer.from(session.secret.toString('hex'))])[0]! > 0);
  });

  it('prints without end while nobody reads reports: an interrupt ends it', async () => {
    await using session = await startInside('python');
    const { last } = await session.interrupt(
      'while True:\n    print("x" * 10_000)\n    display("y" * 100_000)',
      /xxx/,
    );
    assert.equal(last['status'], 'interrupted');
    session.out = '';
    assert.equal(await session.value('"next"'), "'next'");
  });

  it('two cells at once run in their order', async () => {
    await using session = await startInside('python');
    const first = session.send('import time\ntime.sleep(0.1)\norder = [1]');
    session.write({ id: 50, cell: { branch: 'main', number: 2, code: 'order.append(2)', stdin: '' } });
    session.write({ id: 51, cell: { branch: 'main', number: 3, code: 'order', stdin: '' } });
    await first;
    const { results } = await session.wait(({ type, cell }) => type === 'done' && cell === 3);
    assert.equal(results[0]!['text'], '[1, 2]');
  });
});

function countInMemory(pid: number, words: readonly Buffer[]): number[] {
  const memory = openSync(`/proc/${pid}/mem`, 'r');
  const counts = words.map(() => 0);
  try {
    for (const line of readFileSync(`/proc/${pid}/maps`, 'utf8').split('\n')) {
      const [, start, end] = /^(\w+)-(\w+) rw/.exec(line) ?? [];
      if (start === undefined || line.includes('[v')) continue;
      const data = Buffer.alloc(Number.parseInt(end!, 16) - Number.parseInt(start, 16));
      readSync(memory, data, 0, data.length, Number.parseInt(start, 16));
      for (const [at, word] of words.entries()) counts[at]! += data.includes(word) ? 1 : 0;
    }
  } finally {
    closeSync(memory);
  }
  return counts;
}

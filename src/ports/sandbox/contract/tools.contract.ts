import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { createRunClock, type Language, type RunTools } from '../sandbox.ts';
import { proves, useBench, type MakeSandbox } from './harness.contract.ts';

/** Stands for the server's end: answers each line with a name and the line, and remembers whether it was closed. */
function createTestTools(name: string) {
  const { promise: closed, resolve: close } = Promise.withResolvers<void>();
  const lines: string[] = [];
  const clock = createRunClock(60_000);
  let accepted = 0;
  const tools: RunTools = {
    files: new Map([
      ['say.txt', `files of ${name}`],
      ['say/__init__.py', 'def say(): return "a module"\n'],
      ['say/index.mjs', 'export const say = () => "a module";\n'],
      ['__init__.py', ''],
    ]),
    clock,
    accept(connection: Duplex) {
      accepted++;
      connection.on('error', () => {}).on('close', close);
      connection.on('end', () => connection.destroy());
      connection.on('data', (line: Buffer) => {
        lines.push(line.toString().trim());
        connection.write(`${name}: ${line.toString()}`);
      });
    },
  };
  return { tools, lines, closed, clock, countAccepted: () => accepted };
}

const calls: Readonly<Record<Exclude<Language, 'bash'>, string>> = {
  python: `import os
from mcp.say import say
os.write(5, b'hello\\n')
print(os.read(5, 100).decode().strip(), say())`,
  node: `import { readSync, writeSync } from 'node:fs';
import { say } from '/tools/mcp/say/index.mjs';
writeSync(5, 'hello\\n');
const bytes = Buffer.alloc(100);
for (let count = 0; count === 0; ) {
  try { count = readSync(5, bytes); } catch (error) { if (error.code !== 'EAGAIN') throw error; }
}
console.log(bytes.toString().split('\\n')[0], say());`,
};

const lookAround = `import os, stat
def kind(number):
    try: return 'socket' if stat.S_ISSOCK(os.fstat(number).st_mode) else 'other'
    except OSError: return 'none'
print(kind(5), os.path.exists('/tools/mcp'), sorted(os.environ))`;

/** Whether code calls over its own connection, and finds the files that say how. */
export function toolsContract(make: MakeSandbox): void {
  describe('tools', () => {
    const bench = useBench(make);

    for (const language of ['python', 'node'] as const)
      it(`${language} has a connection to the server, and the files`, async () => {
        const { tools, lines, closed, countAccepted } = createTestTools(language);
        const got = await bench.run(language, calls[language], { tools });
        assert.equal(got.out, `${language}: hello a module\n`, got.err);
        assert.deepEqual([lines, countAccepted()], [['hello'], 1]);
        await closed;
      });

    it('runs at the same time have each their own', async () => {
      const given = ['one', 'two', 'three'].map(createTestTools);
      const outcomes = await Promise.all(
        given.map(({ tools }) => bench.run('python', calls.python, { tools })),
      );
      assert.deepEqual(
        outcomes.map(({ out }) => out),
        ['one', 'two', 'three'].map((name) => `${name}: hello a module\n`),
      );
    });

    it('a run without tools has neither, and a run with them no more variables', async () => {
      const { tools } = createTestTools('one');
      const plain = await bench.run('python', lookAround);
      const given = await bench.run('python', lookAround, { tools });
      const isThere = bench.sandbox.holds.filesystem === true ? 'True' : 'False';
      const names = plain.out.slice(plain.out.indexOf('['));
      assert.doesNotMatch(plain.out, /^socket/);
      assert.match(plain.out, / False \[/);
      assert.equal(given.out, `socket ${isThere} ${names}`, given.err);
    });

    proves(
      bench,
      'filesystem',
      "the operator's tools are there as before, and none can be changed",
      async () => {
        await writeFile(join(bench.tools, 'mine.sh'), 'echo mine', { mode: 0o755 });
        const { tools } = createTestTools('one');
        const code = `import os
print(open('/tools/file.txt').read(), open('/tools/mine.sh').read(), open('/tools/mcp/say.txt').read(), sorted(os.listdir('/tools')))
for path in ['/tools/new', '/tools/mcp/new', '/tools/mcp/say.txt', '/tools/file.txt']:
    try: open(path, 'w'); print('wrote', path)
    except OSError as error: print(error.errno in (30, 13))`;
        const got = await bench.run('python', code, { tools });
        const names = "['file.txt', 'mcp', 'mine.sh']";
        assert.equal(got.out, `from /tools echo mine files of one ${names}\n${'True\n'.repeat(4)}`, got.err);
      },
    );

    it('the clock of a run stands still while it is held, and goes on then', async () => {
      const { tools, clock } = createTestTools('one');
      const hold = clock.hold();
      const running = bench.run('python', 'import time\ntime.sleep(60)', { tools, timeoutMs: 500 });
      const first = await Promise.race([running.then(() => 'ended'), pause(1500).then(() => 'running')]);
      assert.equal(first, 'running');
      hold[Symbol.dispose]();
      assert.equal((await running).reason, 'timeout');
    });

    proves(bench, 'whole_tree', 'the connection is closed at the end, whoever kept it', async () => {
      const { tools, closed } = createTestTools('one');
      // A run that ends before its connection is seen has none to be closed: an answer shows that it was.
      const code = `import os, time
os.write(5, b'hello\\n')
os.read(5, 100)
os.set_inheritable(5, True)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for _ in range(100): time.sleep(0.1)
    os._exit(0)`;
      const got = await bench.run('python', code, { tools });
      assert.equal(got.reason, 'exit');
      await closed;
    });
  });
}

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { startInside, type InsideSession } from './session.testing.ts';

describe('a Python session, seen from inside', () => {
  let session: InsideSession;
  before(async () => {
    session = await startInside('python');
  });
  after(() => session?.[Symbol.asyncDispose]());

  it('keeps variables, functions and imports, and shows the last value', async () => {
    await session.send('import math\nx = 20\ndef twice(n): return 2 * n');
    assert.equal(await session.value('twice(x) + math.floor(2.5)'), '42');
    assert.equal(await session.value('x;'), null);
    assert.equal(await session.value('x = 3'), null);
    assert.equal(await session.value('None'), null);
  });

  it('each cell has its own input', async () => {
    assert.equal(await session.value('input() + input()', { stdin: 'a\nb\nc\n' }), "'ab'");
    assert.equal(await session.value('import sys\nsys.stdin.read()', { stdin: 'd' }), "'d'");
    assert.equal(await session.value('sys.stdin.read()'), "''");
  });

  it('a traceback names the cell and shows its lines, and nothing of ours', async () => {
    session.err = '';
    await session.send('def fail():\n    raise ValueError("why")');
    const { last } = await session.send('fail()');
    assert.deepEqual([last['status'], last['code']], ['error', 1]);
    await session.prints(/ValueError: why\n$/);
    assert.match(session.err, /File "cell \d+", line 2, in fail\n {4}raise ValueError\("why"\)/);
    assert.doesNotMatch(session.err, /workcrate_inside/);
    assert.equal((await session.send('x = (')).last['status'], 'error');
  });

  it('an interrupt ends the cell, its processes and the output of its threads, and keeps the state', async () => {
    session.out = '';
    const code = `import subprocess, threading, time
kept = 1
def talk():
    while True:
        print('late thread')
        time.sleep(0.01)
threading.Thread(target=talk, daemon=True).start()
child = subprocess.Popen('trap "" INT; while :; do echo late process; sleep 0.01; done', shell=True)
time.sleep(0.2)
print('begun')
time.sleep(100)`;
    const { last } = await session.interrupt(code, /begun/);
    assert.deepEqual([last['status'], last['threads']], ['interrupted', 1]);
    assert.equal(await session.value('print("NEXT")\ntime.sleep(0.1)\nkept'), '1');
    await session.prints(/NEXT/);
    assert.doesNotMatch(session.out.split('NEXT')[1]!, /late/);
    assert.equal(await session.value('child.wait()'), '-9');
  });

  it('an interrupt that the code catches is no end, and one that comes between cells does nothing', async () => {
    const { last } = await session.interrupt(
      'try:\n    print("waits")\n    time.sleep(100)\nexcept KeyboardInterrupt:\n    caught = True',
      /waits/,
    );
    assert.equal(last['status'], 'ok');
    assert.equal((await session.command('interrupt')).last['ok'], true);
    assert.equal(await session.value('caught'), 'True');
  });

  it('shows what _repr_ methods give, and survives those that do not work', async () => {
    const { results, reports } = await session.send(`
class Rich:
    def __repr__(self): return 'rich'
    def _repr_mimebundle_(self, include=None, exclude=None): return {'text/html': '<b>x</b>'}, {}
    def _repr_png_(self): return b'PNG'
    def _repr_svg_(self): raise ValueError
    def _repr_json_(self): return {'a': 1}
    def _repr_latex_(self): return 5
display(Rich(), 'two')
Rich()`);
    assert.deepEqual(
      results.map(({ kind, text }) => [kind, text]),
      [
        ['display', 'rich'],
        ['display', "'two'"],
        ['value', 'rich'],
      ],
    );
    assert.deepEqual(results[0]!['parts'], [
      { mime: 'text/html', size: 8, name: 'result-1.html' },
      { mime: 'image/png', size: 3, name: 'result-1.png' },
      { mime: 'application/json', size: 8, name: 'result-1.json' },
    ]);
    assert.equal(Buffer.from(reports[0]!.payload).toString(), '<b>x</b>PNG{"a": 1}');
  });

  it('a repr that raises, gives no text, is huge or never ends is survived', async () => {
    const make = (body: string): string => `class Odd:\n    def __repr__(self): ${body}\nOdd()`;
    assert.match(String(await session.value(make('raise SystemExit("no")'))), /whose repr raised SystemExit/);
    assert.match(String(await session.value(make('return 5'))), /whose repr raised TypeError/);
    const { results, reports } = await session.send(make('return "x" * 30_000_000'));
    assert.deepEqual([String(results[0]!['text']).length, results[0]!['cut']], [2000, true]);
    assert.equal(reports.find(({ header }) => header['type'] === 'result')!.payload.length, 10_000_000);
    const { last } = await session.interrupt(
      make("\n        print('asked')\n        while True: pass"),
      /asked/,
    );
    assert.equal(last['status'], 'interrupted');
    assert.match(
      String(await session.value('list(range(1_000_000))')),
      /^list of 1000000, beginning with 0, 1/,
    );
  });

  it('shows 16 results and counts the others', async () => {
    const { results, all } = await session.send('for i in range(100): display(i)');
    assert.equal(results.length, 16);
    assert.equal(all.find(({ type }) => type === 'more')!['results'], 84);
  });

  it('tells which files were opened for reading, once each, and only those that are the user’s', async () => {
    writeFileSync(join(session.folder, 'own.py'), 'value = 7\n');
    writeFileSync(join(session.folder, 'data.txt'), 'data');
    const { all } = await session.send(
      'import os, own\nfor name in ("data.txt", os.path.abspath("data.txt"), "/etc/hostname"): open(name).read()\nopen("new.txt", "w").close()',
    );
    assert.deepEqual(
      all.find(({ type }) => type === 'opened'),
      {
        type: 'opened',
        cell: all.at(-1)!['cell'],
        paths: [join(session.folder, 'own.py'), join(session.folder, 'data.txt')],
        complete: true,
      },
    );
    const many = await session.send(
      'for i in range(1001):\n    open(f"f{i}", "w").close()\n    open(f"f{i}").close()',
    );
    const opened = many.all.find(({ type }) => type === 'opened')!;
    assert.deepEqual([(opened['paths'] as string[]).length <= 1000, opened['complete']], [true, false]);
  });
});

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { startInside, type InsideSession } from './session.testing.ts';

describe('a Node session, seen from inside', () => {
  let session: InsideSession;
  before(async () => {
    session = await startInside('node');
  });
  after(() => session?.[Symbol.asyncDispose]());

  it('keeps variables, functions and modules; let and const can be declared again', async () => {
    await session.send(
      "const path = require('node:path'); let x = 1; function twice(n) { return 2 * n } class A {}",
    );
    assert.equal(await session.value('let x = 21; const y = twice(x); path.sep + y'), "'/42'");
    assert.equal(await session.value('const y = new A(); y'), 'A {}');
    assert.equal(await session.value('let y = 5; class A { b = 1 }; [y, new A()]'), '[ 5, A { b: 1 } ]');
    assert.equal(await session.value('undefined'), null);
    assert.equal(await session.value('null'), 'null');
    assert.equal(await session.value('[-0, 10n ** 20n, NaN]'), '[ -0, 100000000000000000000n, NaN ]');
    assert.equal(await session.value('10n ** 20n'), '100000000000000000000n');
  });

  it('awaits at the top level, and imports as a module in its folder does', async () => {
    writeFileSync(join(session.folder, 'own.mjs'), 'export const one = 1;\nexport default 2;\n');
    const code = `import two, { one as first } from './own.mjs'
import * as os from 'node:os'
const later = await new Promise((resolve) => setTimeout(resolve, 5, 3))
const text = "import('x') stays";
[first, two, later, typeof os.cpus, (await import('./own.mjs')).one, text]`;
    assert.equal(await session.value(code), `[ 1, 2, 3, 'function', 1, "import('x') stays" ]`);
    assert.equal(await session.value('first + two'), '3');
    assert.equal(await session.value('(async () => ({ a: 1 }))()'), '{ a: 1 }');
  });

  it('each cell has its own input', async () => {
    const read = "let text = ''; for await (const part of process.stdin) text += part; text";
    assert.equal(await session.value(read, { stdin: 'one' }), "'one'");
    assert.equal(await session.value(read, { stdin: 'two' }), "'two'");
    assert.equal(await session.value("require('fs').readFileSync(0, 'utf8')", { stdin: 'three' }), "'three'");
  });

  it('tells errors by cell and line, and rejections that nobody handles', async () => {
    session.err = '';
    const statuses = [];
    for (const code of [
      '\nfunction fail() { throw new TypeError("why") }\nfail()',
      'x y',
      'Promise.reject(new Error("unhandled")); 1',
      'setTimeout(() => { throw new Error("late") }); await new Promise((resolve) => setTimeout(resolve, 20))',
    ])
      statuses.push((await session.send(code)).last['status']);
    assert.deepEqual(statuses, ['error', 'error', 'error', 'error']);
    await session.prints(/late/);
    assert.match(
      session.err,
      /Uncaught TypeError: why\n {4}at fail \(cell-\d+:2:25\)\n {4}at cell-\d+:3:1\n/,
    );
    assert.match(session.err, /SyntaxError: .*\n {4}at cell-\d+:1:3/);
    assert.match(session.err, /Error: unhandled/);
    assert.doesNotMatch(session.err, /session\.cjs|node:inspector/);
  });

  it('shows values and display(), bounded, and survives those that cannot be shown', async () => {
    const { results, all, reports } = await session.send(`
display({ a: 1 }, Buffer.from('\\x89PNG', 'latin1'));
display({ [Symbol.for('Jupyter.display')]: () => ({ 'text/html': '<b>x</b>' }) });
display({ [require('util').inspect.custom]() { throw new RangeError() } });
for (let i = 0; i < 20; i++) display(i);
'x'.repeat(5000)`);
    assert.equal(results.length, 16);
    assert.deepEqual(
      [0, 1, 3].map((at) => results[at]!['text']),
      ['{ a: 1 }', '<Buffer 89 50 4e 47>', '<a value whose inspection raised RangeError>'],
    );
    assert.deepEqual(results[1]!['parts'], [{ mime: 'image/png', size: 4, name: 'result-2.png' }]);
    assert.equal(Buffer.from(reports[2]!.payload).toString(), '<b>x</b>');
    assert.equal(all.find(({ type }) => type === 'more')!['results'], 9);
    const long = await session.send("'x'.repeat(5000)");
    assert.deepEqual([String(long.results[0]!['text']).length, long.results[0]!['cut']], [2000, true]);
    assert.equal(long.reports[0]!.payload.length, 5002);
  });

  it('an interrupt ends what is busy, what waits and what it started, and keeps the state', async () => {
    for (const code of [
      'kept = 7; console.log("at 1"); while (true);',
      'console.log("at 2"); await new Promise(() => {})',
      'console.log("at 3"); ({ [require("util").inspect.custom]() { for (;;); } })',
      'console.log("at 4"); require("child_process").execSync("trap : INT; sleep 100")',
      'console.log("at 5"); for (;;) { await new Promise((resolve) => setTimeout(resolve, 5)); console.log("late"); }',
    ]) {
      const { last } = await session.interrupt(code, new RegExp(/at \d/.exec(code)![0]));
      assert.equal(last['status'], 'interrupted', session.explain());
    }
    session.out = '';
    const next = 'console.log("NEXT"); await new Promise((resolve) => setTimeout(resolve, 50)); kept';
    assert.equal(await session.value(next), '7');
    await session.prints(/NEXT/);
    assert.doesNotMatch(session.out.split('NEXT')[1]!, /late/);
  });

  it('process.exit ends the session, with its code', async () => {
    await using ending = await startInside('node');
    const { last } = await ending.send('console.log("last words"); process.exit(4)');
    assert.deepEqual([last['status'], last['code']], ['exit', 4]);
    assert.equal((await ending.wait(({ type }) => type === 'ended')).last['code'], 4);
    await ending.prints(/last words/);
  });

  it('a cell that closes the connection ends the session, and so does one that forges messages', async () => {
    for (const code of ["require('fs').closeSync(3)", "require('fs').writeSync(3, 'x'.repeat(100))"]) {
      await using broken = await startInside('node');
      const { last } = await broken.send(`${code}; await new Promise(() => {})`);
      assert.deepEqual([last['type'], last['code']], ['ended', -9]);
      assert.match(String(last['why']), /control|forged/);
    }
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { languages } from '../sandbox.ts';
import { useBench, type MakeSandbox } from './harness.contract.ts';

/** What the programs that run the code make of it. Backends that have them in common are tried but once. */
export function driversContract(make: MakeSandbox): void {
  describe('drivers', () => {
    const bench = useBench(make);

    it('python: an error goes to stderr with its line, and the exit code is 1', async () => {
      const got = await bench.run('python', 'def f():\n    return 1 / 0\n\nprint("before")\nf()\n');
      assert.deepEqual([got.reason, got.exitCode, got.out], ['exit', 1, 'before\n']);
      assert.match(got.err, /Traceback \(most recent call last\):/);
      assert.match(got.err, /line 5, in <module>[\s\S]*line 2, in f[\s\S]*ZeroDivisionError/);
    });

    it('node: an error goes to stderr with its line, and the exit code is 1', async () => {
      const codes = [
        '\n\nthrow new Error("broken")',
        'await 0\n\nthrow new Error("broken")',
        '\n\nPromise.reject(new Error("broken"))',
      ];
      for (const code of codes) {
        const got = await bench.run('node', code);
        assert.deepEqual([got.reason, got.exitCode, got.out], ['exit', 1, ''], code);
        assert.match(got.err, /broken/);
        assert.match(got.err, /:3:\d+/);
      }
    });

    it('bash: an unknown command is said on stderr, and the last exit code counts', async () => {
      const got = await bench.run('bash', 'echo first\nno-such-command-here');
      assert.deepEqual([got.reason, got.exitCode, got.out], ['exit', 127, 'first\n']);
      assert.match(got.err, /line 2: no-such-command-here: command not found/);
    });

    it('python: a syntax error and a NUL in the code end with 1 and a message', async () => {
      for (const code of ['x = (\n', 'print("a")\nx = "\0"\n']) {
        const got = await bench.run('python', code);
        assert.deepEqual([got.reason, got.exitCode, got.out], ['exit', 1, '']);
        assert.match(got.err, /SyntaxError|null bytes/);
      }
    });

    it('python: sys.exit with a text says it on stderr and ends with 1', async () => {
      const got = await bench.run('python', 'import sys\nsys.exit("why ☃")');
      assert.deepEqual([got.exitCode, got.err], [1, 'why ☃\n']);
    });

    it('python: code is __main__, with classes that can be pickled, threads and child processes', async () => {
      const got = await bench.run(
        'python',
        `import pickle, subprocess, sys, threading
from dataclasses import dataclass
@dataclass
class Point:
    x: int
out = [__name__, pickle.loads(pickle.dumps(Point(3))).x]
t = threading.Thread(target=lambda: out.append('thread')); t.start(); t.join()
out.append(subprocess.run([sys.executable, '-c', 'print(42)'], capture_output=True, text=True).stdout.strip())
import atexit; atexit.register(print, 'bye')
print(out)`,
      );
      assert.equal(got.out, "['__main__', 3, 'thread', '42']\nbye\n", got.err);
    });

    it('node: CommonJS has require, __dirname and module', async () => {
      const got = await bench.run(
        'node',
        `const { readdirSync } = require('node:fs');
console.log(typeof require('os').cpus, typeof module.exports, readdirSync(__dirname) !== null);
var undeclared = 1; console.log(process.version);`,
      );
      assert.equal(got.out, `function object true\n${process.version}\n`, got.err);
    });

    it('node: ES modules have import and await at the top level', async () => {
      const got = await bench.run(
        'node',
        `import { setTimeout } from 'node:timers/promises';
export const x = await setTimeout(5, 'awaited');
console.log(x, (await import('node:path')).posix.sep, typeof import.meta.url);`,
      );
      assert.equal(got.out, 'awaited / string\n', got.err);
      assert.equal((await bench.run('node', 'console.log(await Promise.resolve(7))')).out, '7\n');
    });

    it('node: a syntax error ends with 1, and a NUL in a text stays', async () => {
      for (const code of ['let x = ;', 'import a from "node:fs";\nlet x = ;']) {
        const got = await bench.run('node', code);
        assert.deepEqual([got.exitCode, got.out], [1, '']);
        assert.match(got.err, /SyntaxError/);
      }
      assert.equal((await bench.run('node', 'console.log("a\0b".length)')).out, '3\n');
    });

    it('node: what is still to come keeps the run going', async () => {
      const got = await bench.run('node', 'setTimeout(() => console.log("late"), 50); console.log("early")');
      assert.equal(got.out, 'early\nlate\n');
    });

    it('bash: a syntax error ends with 2', async () => {
      const got = await bench.run('bash', 'if true; then echo x');
      assert.deepEqual([got.exitCode, got.out], [2, '']);
      assert.notEqual(got.err, '');
    });

    it('bash: arrays, here documents, pipes, process substitution and /dev/stderr work', async () => {
      const got = await bench.run(
        'bash',
        `a=(1 2 3); echo "\${a[-1]}"; cat <<'END' | tr a-z A-Z
text
END
cat <(echo sub); echo to-err > /dev/stderr; echo to-out > /dev/stdout`,
      );
      assert.deepEqual([got.out, got.err], ['3\nTEXT\nsub\nto-out\n', 'to-err\n']);
    });

    it('code with nothing but space in it does nothing', async () => {
      for (const language of languages) {
        const got = await bench.run(language, ' \n');
        assert.deepEqual([got.reason, got.exitCode, got.out, got.err], ['exit', 0, '', '']);
      }
    });
  });
}

import assert from 'node:assert/strict';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { describe, it } from 'node:test';
import { languages, type Language } from '../sandbox.ts';
import { useBench, type MakeSandbox } from './harness.contract.ts';
import { recordProof } from '../../../../test/requirements/requirements.testing.ts';

/** Prints `hi`, ends with 3, fails at line 3, and so on. */
const says: Readonly<Record<Language, (text: string) => string>> = {
  python: (text) => `print(${JSON.stringify(text)})`,
  node: (text) => `console.log(${JSON.stringify(text)})`,
  bash: (text) => `printf '%s\\n' '${text}'`,
};

const exitsWith: Readonly<Record<Language, (code: number) => string>> = {
  python: (code) => `import sys\nsys.exit(${code})`,
  node: (code) => `process.exit(${code})`,
  bash: (code) => `exit ${code}`,
};

/** Writes a file where it stands, and tells the name of the folder, or `home` where that is the home folder. */
const writesBeside: Readonly<Record<Language, string>> = {
  python: `import os; open('f', 'w').close(); here = os.getcwd()
print('home' if here == os.environ['HOME'] else os.path.basename(here))`,
  node: `require('fs').writeFileSync('f', ''); const here = process.cwd();
console.log(here === process.env.HOME ? 'home' : require('path').basename(here))`,
  bash: '> f; [ "$PWD" = "$HOME" ] && echo home || basename "$PWD"',
};

const saysVersion: Readonly<Record<Language, string>> = {
  python: 'import platform; print("Python", platform.python_version())',
  node: 'console.log("Node.js", process.version)',
  bash: 'echo "GNU bash $BASH_VERSION"',
};

/**
 * Every language runs, and is told by its version. What the program that runs the code has to do is tried in the `tried`
 * languages: in one where another backend has the same programs, since what is left goes one way for all of them.
 */
export function languagesContract(make: MakeSandbox, tried: readonly Language[]): void {
  describe('languages', () => {
    const bench = useBench(make);

    it('the packages that are told are those that a run finds', async () => {
      const told = await bench.sandbox.pythonPackages();
      const code = `import json, sys
from importlib.util import find_spec
names = ${JSON.stringify(Object.keys(told?.packages ?? {}))}
print(json.dumps(["%d.%d" % sys.version_info[:2], [name for name in names if find_spec(name) is not None]]))`;
      const { out } = await bench.run('python', code);
      const there = Object.entries(told!.packages).filter(([, version]) => version !== null);
      assert.deepEqual(JSON.parse(out), [told!.version, there.map(([name]) => name)]);
    });

    for (const language of languages) {
      it(`${language} runs code and reports its end`, async () => {
        const got = await bench.run(language, says[language]('hi, wörld ☃'));
        assert.deepEqual([got.out, got.err], ['hi, wörld ☃\n', '']);
        assert.deepEqual([got.reason, got.exitCode, got.signal], ['exit', 0, null]);
        assert.ok(got.durationMs > 0);
        recordProof(`D1:runs-${language}`);
      });

      it(`${language} is told by the version that really runs`, async () => {
        const told = await bench.sandbox.runtime(language);
        assert.equal(told, (await bench.run(language, saysVersion[language])).out.trim());
      });
    }

    for (const language of tried) {
      it(`${language} ends with the exit code of the program`, async () => {
        for (const code of [3, 255])
          assert.equal((await bench.run(language, exitsWith[language](code))).exitCode, code);
      });

      it(`${language} leaves no script in its folder, and two runs in one folder do not collide`, async () => {
        const { inside, host } = await bench.folder();
        const runs = ['one', 'two', 'three'].map((text) =>
          bench.run(language, says[language](text), { workingDir: inside }),
        );
        assert.deepEqual(
          (await Promise.all(runs)).map(({ out }) => out),
          ['one\n', 'two\n', 'three\n'],
        );
        assert.deepEqual(await readdir(host), []);
        recordProof('D3:no-script-left');
      });

      it(`${language} runs in a folder of /tmp or of its home that is made for it`, async () => {
        for (const workingDir of ['/home/user', '/home/user/a/b', '/tmp/c d']) {
          const got = await bench.run(language, writesBeside[language], { workingDir });
          assert.equal(
            got.out.trim(),
            posix.basename(workingDir === '/home/user' ? 'home' : workingDir),
            got.err,
          );
        }
      });

      it(`${language} takes code of 1 MB`, async () => {
        const comment = language === 'node' ? '//' : '#';
        const filler = `${comment} ${'x'.repeat(97)}\n`.repeat(10_500);
        const got = await bench.run(language, filler + says[language]('end'));
        assert.deepEqual([got.out, got.exitCode], ['end\n', 0], got.err.slice(0, 500));
      });

      it(`${language} takes code with quotes, backslashes and unicode as it is`, async () => {
        const text = '"`$(id)$HOME\\n\\u2028 ☃ 𝄞 é';
        const got = await bench.run(language, says[language](text));
        assert.equal(got.out, `${text}\n`, got.err);
      });

      it(`${language} reads its input, also by its path, and sees its end`, async () => {
        const code = {
          python: 'print(open("/dev/stdin").read() + "|")',
          node: 'process.stdin.setEncoding("utf8"); let s = ""; for await (const c of process.stdin) s += c; console.log(s + "|")',
          bash: 'cat /dev/stdin; echo "|"',
        }[language];
        assert.equal((await bench.run(language, code, { stdin: 'gegeben ☃' })).out, 'gegeben ☃|\n');
        assert.equal((await bench.run(language, code)).out, '|\n');
      });
    }

    it('bash: python3 and node are there for it, and node is the one of the server', async () => {
      const got = await bench.run('bash', 'python3 -c "print(1+1)"; node -p process.version');
      assert.equal(got.out, `2\n${process.version}\n`, got.err);
    });

    it('modules beside the working directory can be imported', async () => {
      const { inside, host } = await bench.folder();
      await writeFile(join(host, 'beside.py'), 'value = "py"', { mode: 0o644 });
      await writeFile(join(host, 'beside.js'), 'module.exports = "js"', { mode: 0o644 });
      const asked = { workingDir: inside };
      assert.equal((await bench.run('python', 'import beside; print(beside.value)', asked)).out, 'py\n');
      assert.equal((await bench.run('node', 'console.log(require("./beside.js"))', asked)).out, 'js\n');
      assert.equal(
        (await bench.run('node', 'import b from "./beside.js"; console.log(b)', asked)).out,
        'js\n',
      );
    });

    it('the run begins in its working directory, whatever its name', async () => {
      const { inside, host } = await bench.folder();
      for (const name of ['it\'s $(id) "x"', '-n', ' ☃\n', 'x'.repeat(255)]) {
        await mkdir(join(host, name), { mode: 0o755 });
        const asked = { workingDir: `${inside}/${name}` };
        const got = await bench.run(
          'python',
          'import os\nprint(ascii(os.path.basename(os.getcwd())))',
          asked,
        );
        assert.equal(got.err, '');
        assert.equal((await bench.run('bash', 'basename -- "$PWD"; true', asked)).out, `${name}\n`);
      }
    });

    it('/tmp can be the working directory', async () => {
      const got = await bench.run('bash', 'echo x > file && cat file && ls "$TMPDIR"', {
        workingDir: '/tmp',
      });
      assert.equal(got.out, 'x\nfile\n', got.err);
    });
  });
}

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { collectBytes } from '../../../platform/streams.ts';
import { languages } from '../sandbox.ts';
import { useBench, type MakeSandbox } from './harness.contract.ts';
import { setTimeout as sleep } from 'node:timers/promises';

const sha256 = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex');

export function outputContract(make: MakeSandbox): void {
  describe('input and output', () => {
    const bench = useBench(make);

    it('binary output comes out exactly, on both outputs', async () => {
      const got = await bench.run(
        'python',
        `import sys
every = bytes(range(256)) * 4096
sys.stdout.buffer.write(every)
sys.stderr.buffer.write(every[::-1])`,
      );
      const every = Buffer.concat(
        Array.from({ length: 4096 }, () => Buffer.from(Array.from({ length: 256 }, (_, i) => i))),
      );
      assert.ok(got.stdout.equals(every), 'stdout differs');
      assert.ok(got.stderr.equals(Buffer.from(every.toReversed())), 'stderr differs');
    });

    it('much output on both at once comes out whole', async () => {
      const got = await bench.run(
        'python',
        `import sys, threading
def flood(out, letter):
    for _ in range(256): out.write(letter * 65536)
    out.flush()
threads = [threading.Thread(target=flood, args=a) for a in ((sys.stdout.buffer, b'o'), (sys.stderr.buffer, b'e'))]
for t in threads: t.start()
for t in threads: t.join()`,
      );
      assert.equal(sha256(got.stdout), sha256('o'.repeat(16 * 1024 * 1024)));
      assert.equal(sha256(got.stderr), sha256('e'.repeat(16 * 1024 * 1024)));
      assert.deepEqual([got.reason, got.exitCode], ['exit', 0]);
    });

    it('a reader that is slow gets all of it, also after the run has ended', async () => {
      const size = 120_000;
      const run = await bench.start('bash', `head -c ${size} /dev/zero`);
      const err = collectBytes(run.stderr);
      let bytes = 0;
      for await (const chunk of run.stdout) {
        bytes += chunk.length;
        await sleep(600);
      }
      assert.deepEqual([bytes, (await run.ended).reason], [size, 'exit']);
      await err;
    });

    it('output comes while the run goes on', async () => {
      const stop = new AbortController();
      const run = await bench.start('python', 'print("now", flush=True)\nimport time\ntime.sleep(60)', {
        signal: stop.signal,
      });
      const err = collectBytes(run.stderr);
      for await (const chunk of run.stdout) {
        assert.equal(Buffer.from(chunk).toString(), 'now\n');
        stop.abort();
      }
      assert.equal((await run.ended).reason, 'cancelled');
      await err;
    });

    it('input of 5 MB arrives exactly, in every language', async () => {
      const stdin = 'snow ☃ '.repeat(600_000);
      const codes = {
        python: 'import sys, hashlib\nprint(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())',
        node: `const hash = require('crypto').createHash('sha256'); process.stdin.pipe(hash).on('finish', () => console.log(hash.digest('hex')))`,
        bash: `sha256sum | cut -d' ' -f1`,
      };
      for (const language of languages) {
        const got = await bench.run(language, codes[language], { stdin });
        assert.equal(got.out, `${sha256(stdin)}\n`, got.err);
      }
    });

    it('a run that does not read its input ends all the same', async () => {
      const stdin = 'x'.repeat(5 * 1024 * 1024);
      const codes = { python: 'print(1)', node: 'console.log(1)', bash: 'echo 1' };
      for (const language of languages) {
        const got = await bench.run(language, codes[language], { stdin });
        assert.deepEqual([got.reason, got.exitCode, got.out], ['exit', 0, '1\n'], `${language}: ${got.err}`);
      }
    });

    it('outputs that nobody reads hold the run until its timeout, and what it wrote can be read then', async () => {
      const code = 'import sys\nwhile True: sys.stdout.write("x" * 65536)';
      const heldFor = async (timeoutMs: number): Promise<Buffer> => {
        const run = await bench.start('python', code, { timeoutMs });
        assert.equal((await run.ended).reason, 'timeout');
        return (await Promise.all([collectBytes(run.stdout), collectBytes(run.stderr)]))[0];
      };
      const soon = await heldFor(1500);
      // A busy machine may not have begun with it by then.
      const out = soon.length > 0 ? soon : await heldFor(20_000);
      assert.ok(out.length > 0 && out.length < 16 * 1024 * 1024, `${out.length} bytes`);
      assert.ok(out.every((byte) => byte === 120));
    });

    it('little output may be read after the end', async () => {
      const run = await bench.start('bash', 'echo out; echo err >&2; exit 4');
      const end = await run.ended;
      assert.deepEqual([end.reason, end.exitCode], ['exit', 4]);
      assert.equal((await collectBytes(run.stdout)).toString(), 'out\n');
      assert.equal((await collectBytes(run.stderr)).toString(), 'err\n');
    });

    it('a run that closes its outputs goes on', async () => {
      const { inside } = await bench.folder();
      const got = await bench.run('bash', 'exec >&- 2>&-; sleep 0.2; echo done > file; exit 6', {
        workingDir: inside,
      });
      assert.deepEqual([got.reason, got.exitCode, got.out], ['exit', 6, '']);
      assert.equal((await bench.run('bash', 'cat file', { workingDir: inside })).out, 'done\n');
    });

    it('twelve runs at once keep their outputs apart', async () => {
      const runs = Array.from({ length: 12 }, (_, i) => {
        const language = languages[i % languages.length]!;
        const user = i % 2 === 0 ? 'anna' : 'bert';
        const code = {
          python: `import sys\nfor _ in range(200): print("run ${i}")\nprint("err ${i}", file=sys.stderr)`,
          node: `for (let i = 0; i < 200; i++) console.log("run ${i}"); console.error("err ${i}")`,
          bash: `for _ in {1..200}; do echo "run ${i}"; done; echo "err ${i}" >&2`,
        }[language];
        return bench.run(language, code, { user });
      });
      for (const [i, got] of (await Promise.all(runs)).entries()) {
        assert.equal(got.out, `run ${i}\n`.repeat(200));
        assert.equal(got.err, `err ${i}\n`);
        assert.equal(got.exitCode, 0);
      }
    });
  });
}

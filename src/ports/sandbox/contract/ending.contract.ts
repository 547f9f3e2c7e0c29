import assert from 'node:assert/strict';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { collectBytes } from '../../../platform/streams.ts';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { languages, type Language } from '../sandbox.ts';
import {
  contractLimits,
  openBench,
  outcomeOf,
  proves,
  useBench,
  type Bench,
  type MakeSandbox,
  type Outcome,
} from './harness.contract.ts';

const trapsTerm: Readonly<Record<Language, string>> = {
  python: `import os, signal, sys, time
def last(*_):
    time.sleep(0.3)
    os.write(1, b'last words\\n')
    sys.exit(9)
signal.signal(signal.SIGTERM, last)
os.write(1, b'begun\\n')
while True: time.sleep(0.05)`,
  node: `process.on('SIGTERM', () => setTimeout(() => { console.log('last words'); process.exit(9); }, 300));
console.log('begun'); setInterval(() => {}, 1000);`,
  bash: `trap 'sleep 0.3; echo last words; exit 9' TERM
echo begun; while :; do sleep 0.05; done 2>/dev/null`,
};

const ignoresTerm: Readonly<Record<Language, string>> = {
  python: `import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print('begun', flush=True)
while True: time.sleep(1)`,
  node: `process.on('SIGTERM', () => {}); console.log('begun'); setInterval(() => {}, 1000);`,
  bash: `trap '' TERM; echo begun; while :; do sleep 1; done`,
};

/** Each leaves a process behind that writes on and on into \`beat\`. */
const beat = 'while :; do echo >> beat; sleep 0.02; done';
const begins = 'until [ -s beat ]; do sleep 0.02; done';
const stragglers: Readonly<Record<string, string>> = {
  'a child in the background': `(${beat}) >/dev/null 2>&1 & ${begins}`,
  'a session of its own': `setsid bash -c '${beat}' >/dev/null 2>&1 & ${begins}`,
  'a session with an empty environment': `setsid env -i PATH=/usr/bin:/bin bash -c 'trap "" TERM HUP; ${beat}' >/dev/null 2>&1 & ${begins}`,
  'one that holds the outputs open': `setsid bash -c '${beat}' & ${begins}`,
  'a daemon by double fork': `python3 - <<'END'
import os, signal, subprocess
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for s in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT): signal.signal(s, signal.SIG_IGN)
        null = os.open('/dev/null', os.O_RDWR)
        for fd in (0, 1, 2): os.dup2(null, fd)
        os.execve('/bin/bash', ['[kworker]', '-c', '${beat}'], {'PATH': '/usr/bin:/bin'})
    os._exit(0)
END
${begins}`,
};
import { recordProof } from '../../../../test/requirements/requirements.testing.ts';

export function endingContract(make: MakeSandbox): void {
  killedContract(make);
  describe('ending', () => {
    // What ends in its grace does so at once, unless the machine has much else to do.
    const bench = useBench(make, { limits: { ...contractLimits, graceMs: 20_000 } });

    for (const language of languages)
      it(`${language} gets SIGTERM and the grace to say its last words`, async () => {
        const got = await timedOut(bench, language, trapsTerm[language]);
        assert.deepEqual([got.reason, got.exitCode, got.signal], ['timeout', 9, null], got.err);
        assert.equal(got.out, 'begun\nlast words\n');
      });

    it('a run that does not mind SIGTERM ends by it', async () => {
      const code = 'print("begun", flush=True)\nimport time\ntime.sleep(600)';
      const got = await timedOut(bench, 'python', code);
      assert.deepEqual([got.reason, got.exitCode, got.signal], ['timeout', null, 'SIGTERM']);
      assert.equal(got.out, 'begun\n');
    });

    it('cancelling gives the same grace, and says so', async () => {
      const stop = new AbortController();
      const run = await bench.start('python', trapsTerm.python, { signal: stop.signal });
      const outcome = outcomeOf({ ...run, stdout: abortAtFirst(run.stdout, stop) });
      const got = await outcome;
      assert.deepEqual([got.reason, got.exitCode, got.out], ['cancelled', 9, 'begun\nlast words\n']);
    });

    it('a run that is cancelled before it begins does not begin', async () => {
      const { inside, host } = await bench.folder();
      const asked = { workingDir: inside, signal: AbortSignal.abort() };
      await assert.rejects(bench.start('bash', 'echo x > ran', asked), { code: 'cancelled' });
      await assert.rejects(stat(join(host, 'ran')), { code: 'ENOENT' });
    });

    it('death by a signal of its own is told apart from an exit code', async () => {
      const table: [Language, string, string | null, number | null][] = [
        ['python', 'import os\nos.kill(os.getpid(), 11)', 'SIGSEGV', null],
        ['python', 'import os\nos.abort()', 'SIGABRT', null],
        ['python', 'import os\nos.kill(os.getpid(), 9)', 'SIGKILL', null],
        ['node', 'process.kill(process.pid, "SIGTERM"); setInterval(() => {}, 1000)', 'SIGTERM', null],
        ['bash', 'kill -9 $$', 'SIGKILL', null],
        ['python', 'import sys\nsys.exit(139)', null, 139],
        ['bash', 'bash -c "kill -SEGV \\$\\$"; exit $?', null, 139],
      ];
      for (const [language, code, signal, exitCode] of table) {
        const got = await bench.run(language, code);
        const reason = signal === null ? 'exit' : 'signal';
        assert.deepEqual([got.reason, got.signal, got.exitCode], [reason, signal, exitCode], code);
      }
      recordProof('D2:exit-code-and-signal');
    });

    for (const [name, code] of Object.entries(stragglers))
      proves(bench, 'whole_tree', `${name} does not survive the end`, async () => {
        const { inside, host } = await bench.folder();
        const got = await bench.run('bash', `${code}; exit 0`, { workingDir: inside });
        assert.deepEqual([got.reason, got.exitCode], ['exit', 0], got.err);
        await standsStill(join(host, 'beat'));
        recordProof('D15:cannot-outlive-its-run');
      });

    proves(bench, 'whole_tree', 'SIGTERM reaches children, also in sessions of their own', async () => {
      const { inside, host } = await bench.folder();
      const child = `trap "echo \\$0 >> heard; exit" TERM; touch up-\\$0; while :; do sleep 0.05; done`;
      const code = `bash -c '${child.replaceAll('\\$', '$')}' one & setsid bash -c '${child.replaceAll('\\$', '$')}' two &
trap 'until [ "$(grep -c . heard 2>/dev/null)" = 2 ]; do sleep 0.05; done; exit 0' TERM
while [ ! -e up-one ] || [ ! -e up-two ]; do sleep 0.02; done; echo ready; while :; do sleep 0.05; done`;
      const stop = new AbortController();
      const run = await bench.start('bash', code, { workingDir: inside, signal: stop.signal });
      await outcomeOf({ ...run, stdout: abortAtFirst(run.stdout, stop) });
      const heard = (await readFile(join(host, 'heard'), 'utf8')).split('\n').sort().join(' ').trim();
      assert.equal(heard, 'one two');
    });

    it('closing the sandbox ends what runs, and nothing starts after that', async () => {
      const other = await openBench(make);
      const run = await other.start('python', 'print("begun", flush=True)\nimport time\ntime.sleep(600)');
      const outputs = Promise.all([collectBytes(run.stdout), collectBytes(run.stderr)]);
      await other.sandbox[Symbol.asyncDispose]();
      const end = await run.ended;
      assert.equal(end.exitCode, null);
      assert.ok(['cancelled', 'lost'].includes(end.reason), end.reason);
      await outputs;
      await assert.rejects(other.start('bash', 'echo x'), { code: 'sandbox_unavailable' });
      await other[Symbol.asyncDispose]();
    });
  });
}

/** What has to be killed, after a grace that is short. */
function killedContract(make: MakeSandbox): void {
  describe('ending by SIGKILL', () => {
    const bench = useBench(make, { limits: { ...contractLimits, graceMs: 500 } });

    for (const language of languages)
      it(`${language} is killed when it ignores SIGTERM, and what it wrote comes out`, async () => {
        const got = await timedOut(bench, language, ignoresTerm[language]);
        assert.deepEqual([got.reason, got.exitCode, got.signal], ['timeout', null, 'SIGKILL']);
        assert.equal(got.out, 'begun\n');
        recordProof('D4:sigterm-grace-sigkill');
      });

    it('a stopped process is no way to outlive the timeout', async () => {
      const got = await timedOut(bench, 'bash', 'echo begun; kill -STOP $$');
      assert.equal(got.reason, 'timeout');
      assert.equal(got.out, 'begun\n');
    });

    proves(bench, 'whole_tree', 'no process survives a timeout or a cancellation', async () => {
      const { inside, host } = await bench.folder();
      const all = `${Object.values(stragglers).join('\n')}\nsleep 0.3; echo ready; sleep 600`;
      const late = await timedOut(bench, 'bash', all, inside);
      assert.equal(late.reason, 'timeout');
      await standsStill(join(host, 'beat'));

      const stop = new AbortController();
      const run = await bench.start('bash', all, { workingDir: inside, signal: stop.signal });
      await outcomeOf({ ...run, stdout: abortAtFirst(run.stdout, stop) });
      assert.equal((await run.ended).reason, 'cancelled');
      await standsStill(join(host, 'beat'));
      recordProof('D4:whole-tree-dies');
    });
  });
}

/** Runs into its timeout, which is longer where the machine is too busy for it to have begun by then. */
async function timedOut(
  bench: Bench,
  language: Language,
  code: string,
  workingDir = '/workspace',
): Promise<Outcome> {
  const run = (timeoutMs: number) => bench.run(language, code, { workingDir, timeoutMs });
  for (const timeoutMs of [1500, 6000]) {
    const got = await run(timeoutMs);
    if (got.out !== '') return got;
  }
  return run(30_000);
}

/** Passes an output on, and cancels once something has come out. */
async function* abortAtFirst(
  output: AsyncIterable<Uint8Array>,
  stop: AbortController,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of output) {
    stop.abort();
    yield chunk;
  }
}

/** There was a process that wrote into the file, and there is none any more. */
async function standsStill(file: string): Promise<void> {
  const { size } = await stat(file);
  assert.ok(size > 0);
  await sleep(300);
  assert.equal((await stat(file)).size, size, 'something still writes');
}

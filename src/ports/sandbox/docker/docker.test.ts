import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, describe, it } from 'node:test';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openBench } from '../contract/harness.contract.ts';
import { joinPlaces, testPlaces } from '../places.testing.ts';
import { contractOptions, sandboxContract, type MadeSandbox } from '../sandbox.contract.ts';
import type { SandboxOptions } from '../sandbox.ts';
import { instanceLabel, startContainer, type DockerOptions } from './container.ts';
import { dockerSandbox } from './docker.ts';
import { findEngine, noEngine } from './engine.testing.ts';
import { openDockerEngine } from './engine.ts';

const engine = await findEngine();
let count = 0;

async function make(options: Partial<SandboxOptions>): Promise<MadeSandbox> {
  const places = await testPlaces();
  const sandbox = await dockerSandbox(optionsFor(`contract-${count++}`, options));
  return joinPlaces(sandbox, places);
}

function optionsFor(instance: string, options: Partial<DockerOptions> = {}): DockerOptions {
  const { socket, image } = engine!;
  return { ...contractOptions, socket, image, runtime: null, instance, ...options };
}

describe('docker', { skip: engine === null && noEngine }, () => {
  after(async () => engine?.[Symbol.asyncDispose]());

  // Its containers run the code by `drivers.ts`, as subprocess does.
  sandboxContract('docker', make, false);

  it('an image that is missing is said with ways to get it', async () => {
    await assert.rejects(dockerSandbox(optionsFor('none', { image: 'no-such-image:latest' })), {
      code: 'sandbox_unavailable',
      message: /no-such-image:latest.*docker build.*docker import/,
    });
  });

  it('a runtime that the engine does not know is said', async () => {
    await assert.rejects(dockerSandbox(optionsFor('none', { runtime: 'no-such-runtime' })), {
      code: 'sandbox_failed',
      message: /no-such-runtime/,
    });
  });

  it('a run takes the container that waits, and the next one waits behind it', async () => {
    await using bench = await openBench(make);
    await bench.sandbox.warm('anna', await bench.place('anna'));
    const [waiting] = await containers(`contract-${count - 1}`);
    assert.equal(bench.sandbox.occupancy().warm, 1);
    assert.equal((await bench.run('bash', 'cat /proc/sys/kernel/hostname')).out, 'sandbox\n');
    await bench.sandbox.warm('anna', await bench.place('anna'));
    assert.equal(bench.sandbox.occupancy().warm, 1);
    assert.notDeepEqual(await containers(`contract-${count - 1}`), [waiting]);
  });

  it('only as many users as may run at once have a container waiting', async () => {
    await using bench = await openBench(make, { mostRuns: 2 });
    for (const user of ['anna', 'bert', 'carl', 'dora'])
      await bench.sandbox.warm(user, await bench.place(user));
    assert.equal(bench.sandbox.occupancy().warm, 2);
  });

  it('a container that waits and is gone is replaced', async () => {
    await using bench = await openBench(make);
    await bench.sandbox.warm('anna', await bench.place('anna'));
    for (const id of await containers(`contract-${count - 1}`)) await remove(id);
    assert.equal((await bench.run('bash', 'echo fine')).out, 'fine\n');
  });

  it('a container that is removed under its run is lost, with what it had written', async () => {
    await using bench = await openBench(make, { warm: { python: 0, node: 0, bash: 0 } });
    const instance = `contract-${count - 1}`;
    const run = await bench.start('bash', 'echo begun; sleep 60');
    const chunks: Uint8Array[] = [];
    for await (const chunk of run.stdout) {
      chunks.push(chunk);
      for (const id of await containers(instance)) await remove(id);
    }
    const end = await run.ended;
    assert.deepEqual([end.reason, end.exitCode, end.signal], ['lost', null, null]);
    assert.equal(Buffer.concat(chunks).toString(), 'begun\n');
  });

  it('nothing is left when the sandbox closes', async () => {
    await using bench = await openBench(make);
    await Promise.all([1, 2, 3].map((i) => bench.run('bash', `echo ${i}`)));
    await bench.sandbox[Symbol.asyncDispose]();
    assert.deepEqual(await containers(`contract-${count - 1}`), []);
  });

  it('what a server that was killed left is removed at its next start, and nothing of others', async () => {
    const other = await dockerSandbox(optionsFor('other'));
    const place = await testPlaces();
    await other.warm('anna', await place.place('anna'));
    const child = spawn(process.execPath, [fileURLToPath(new URL('crash.testing.ts', import.meta.url))], {
      env: { ...process.env, CRASH_OPTIONS: JSON.stringify({ ...optionsFor('crashed'), log: null }) },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    child.kill('SIGKILL');
    await once(child, 'exit');
    assert.notEqual((await containers('crashed')).length, 0);
    const again = await dockerSandbox(optionsFor('crashed'));
    assert.deepEqual(await containers('crashed'), []);
    assert.equal((await containers('other')).length, 1);
    for (const opened of [again, other, place]) await opened[Symbol.asyncDispose]();
  });

  it('the supervisor cannot be read, traced, signalled or imitated', async () => {
    await using bench = await openBench(make);
    const got = await bench.run('python', attack);
    assert.deepEqual([got.reason, got.exitCode], ['exit', 7], got.err);
    assert.match(got.out, /^nothing read\n/);
    assert.ok(got.out.endsWith('still here\n'), got.out);
  });

  it('a container stays until it is removed, so that the engine passes on all that it said', async () => {
    const container = await startContainer(openDockerEngine(engine!.socket), optionsFor('stays'), {
      place: null,
      isGated: false,
    });
    try {
      const task = {
        language: 'bash',
        code: 'echo said',
        workingDir: '/',
        stdin: '',
        mostMs: 30_000,
        environment: {},
      } as const;
      const { report, stdout } = container.begin(task);
      assert.equal((await report)?.code, 0);
      assert.equal(await text(stdout), 'said\n');
      await setTimeout(300);
      const path = `/containers/${container.id}/json`;
      const { State } = await openDockerEngine(engine!.socket).call<{ State: { Running: boolean } }>(
        'GET',
        path,
      );
      assert.equal(State.Running, true);
    } finally {
      await container.remove();
    }
  });

  it('the code is in no command line', async () => {
    await using bench = await openBench(make);
    for (const [language, code] of Object.entries(findsItself)) {
      const { out, err, reason, exitCode } = await bench.run(language as keyof typeof findsItself, code);
      assert.deepEqual({ out, err, reason, exitCode }, { out: '0\n', err: '', reason: 'exit', exitCode: 0 });
    }
  });
});

it('an engine that cannot be reached is said with the way to name another', async () => {
  const options = { ...contractOptions, image: 'x', runtime: null, instance: 'x' };
  await assert.rejects(dockerSandbox({ ...options, socket: '/nowhere/docker.sock' }), {
    code: 'sandbox_unavailable',
    message: /\/nowhere\/docker\.sock.*--docker-socket/,
  });
});

/** Counts the processes whose command line holds a word of this very code. */
const findsItself = {
  python: `import glob; word = b'needle' + b'needle'
print(sum(word in open(f, 'rb').read() for f in glob.glob('/proc/[0-9]*/cmdline'))) # needleneedle`,
  bash: `a=needle; all=$(cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ')
[[ $all == *"$a$a"* ]] && echo 1 || echo 0 # needleneedle`,
} as const;

const attack = `
import ctypes, os, signal, sys
read = []
for name in ('mem', 'environ', 'maps', 'fd/0', 'fd/2', 'cwd/x', 'auxv', 'syscall', 'stack'):
    try:
        with open('/proc/1/' + name, 'rb') as f: f.read(1); read.append(name)
    except OSError: pass
print('nothing read' if not read else read, flush=True)
libc = ctypes.CDLL(None)
if libc.ptrace(16, 1, 0, 0) == 0: print('traced')
for number in range(1, 65):
    if number == signal.SIGTERM: continue
    try: os.kill(1, number)
    except OSError: pass
# Something like the end, with a mark that is guessed.
os.write(2, bytes(24) + b'{"code": 0, "oomKilled": 0, "pidsRefused": 0}\\n')
os.write(1, bytes(24) + b'\\n')
print('still here', flush=True)
sys.exit(7)
`;

async function containers(instance: string): Promise<string[]> {
  const filters = encodeURIComponent(JSON.stringify({ label: [`${instanceLabel}=${instance}`] }));
  const path = `/containers/json?all=1&filters=${filters}`;
  return (await openDockerEngine(engine!.socket).call<{ Id: string }[]>('GET', path)).map(({ Id }) => Id);
}

async function remove(id: string): Promise<void> {
  await openDockerEngine(engine!.socket).call('DELETE', `/containers/${id}?force=1`);
}

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../../../platform/eventually.testing.ts';
import { contractOptions } from '../sandbox.contract.ts';
import { testPlaces } from '../places.testing.ts';
import type { Language, Workspace, Sandbox, SandboxOptions } from '../sandbox.ts';
import { bubblewrapSandbox } from './bubblewrap.ts';
import { collectText } from '../../../platform/streams.ts';

interface Bench extends AsyncDisposable {
  readonly sandbox: Sandbox;
  place(user: string): Promise<Workspace>;
  run(language: Language, code: string, user?: string): Promise<string>;
}

async function bench(options: Partial<SandboxOptions> & { python?: string | null }): Promise<Bench> {
  const places = await testPlaces();
  const sandbox = await bubblewrapSandbox({ ...contractOptions, python: null, ...options });
  return {
    sandbox,
    place: (user) => places.place(user),
    async run(language, code, user = 'ann') {
      const place = await places.place(user);
      const { signal } = new AbortController();
      const request = {
        id: 'exec_000000000001',
        workingDir: '/workspace',
        stdin: '',
        timeoutMs: 20_000,
        signal,
      };
      const run = await sandbox.start({ ...request, user, place, language, code });
      const [out] = await Promise.all([collectText(run.stdout), collectText(run.stderr), run.ended]);
      return out;
    },
    async [Symbol.asyncDispose]() {
      await sandbox[Symbol.asyncDispose]();
      await places[Symbol.asyncDispose]();
    },
  };
}

const filled = (sandbox: Sandbox, count: number): Promise<void> =>
  eventually(() => sandbox.occupancy().warm >= count);

const warm = { python: 2, node: 0, bash: 1 };

describe('interpreters that wait', () => {
  it('are there before the first run, and again behind each', async () => {
    await using it = await bench({ warm });
    await it.sandbox.warm('ann', await it.place('ann'));
    await filled(it.sandbox, 3);
    for (let count = 0; count < 5; count++) assert.equal(await it.run('python', 'print(1)'), '1\n');
    await filled(it.sandbox, 3);
    // More, if one of the runs found none; not for long.
    await eventually(() => it.sandbox.occupancy().warm === 3);
    assert.deepEqual(it.sandbox.occupancy(), { running: 0, queued: 0, warm: 3 });
  });

  it('are more while they are asked for, and fewer when it is calm', async () => {
    await using it = await bench({ warm: { python: 0, node: 0, bash: 2 } });
    await it.sandbox.warm('ann', await it.place('ann'));
    await filled(it.sandbox, 2);
    const burst = (): Promise<string[]> =>
      Promise.all(Array.from({ length: 8 }, () => it.run('bash', 'sleep 0.3; echo out')));
    await burst();
    await filled(it.sandbox, 5);
    assert.deepEqual(new Set(await burst()), new Set(['out\n']));
    await eventually(() => it.sandbox.occupancy().warm === 2);
    assert.equal(await it.run('bash', 'echo again'), 'again\n');
  });

  it('are none where none are to wait, whatever is asked for', async () => {
    await using it = await bench({ warm: { python: 0, node: 0, bash: 0 } });
    await Promise.all(Array.from({ length: 8 }, () => it.run('python', 'print(1)')));
    await pause(100);
    assert.equal(it.sandbox.occupancy().warm, 0);
  });

  it('run once: what one leaves in its interpreter, another never sees', async () => {
    await using it = await bench({ warm });
    const mark =
      'import builtins, os\nprint(getattr(builtins, "mark", None))\nbuiltins.mark = 1\nos.environ["MARK"] = "1"';
    const seen = await Promise.all(Array.from({ length: 12 }, () => it.run('python', mark)));
    assert.deepEqual(new Set(seen), new Set(['None\n']));
  });

  it('a burst that finds none has them forked', async () => {
    await using it = await bench({ warm: { python: 1, node: 0, bash: 0 }, mostRuns: 8 });
    const languages: Language[] = ['python', 'bash', 'node'];
    const code = { python: 'print("out")', bash: 'echo out', node: 'console.log("out")' };
    const runs = Array.from({ length: 30 }, (_, at) => languages[at % 3]!);
    const outs = await Promise.all(runs.map((language) => it.run(language, code[language])));
    assert.deepEqual(new Set(outs), new Set(['out\n']));
  });

  it('each user has others, that see the folders of that user alone', async () => {
    await using it = await bench({ warm });
    await it.run('bash', 'echo of ann > /workspace/secret', 'ann');
    assert.equal(
      await it.run(
        'bash',
        'ls -A /workspace; cat /workspace/secret; find / -name secret 2>/dev/null; true',
        'bob',
      ),
      '',
    );
    assert.equal(await it.run('bash', 'cat /workspace/secret', 'ann'), 'of ann\n');
  });

  it('of more users than are kept waiting, all can run', async () => {
    await using it = await bench({ warm: { python: 1, node: 0, bash: 0 } });
    for (let count = 0; count < 20; count++)
      assert.equal(await it.run('python', `print(${count})`, `user ${count}`), `${count}\n`);
    assert.ok(it.sandbox.occupancy().warm <= 17);
  });
});

it('a pool that is closed while runs wait for it sends them away, and starts nothing more', async () => {
  const it = await bench({ warm: { python: 3, node: 0, bash: 0 }, mostRuns: 8 });
  await it.sandbox.warm('ann', await it.place('ann'));
  const runs = Array.from({ length: 8 }, () => it.run('python', 'import time\ntime.sleep(30)'));
  const settled = Promise.allSettled(runs);
  await pause(15);
  await it[Symbol.asyncDispose]();
  await settled;
  assert.equal(it.sandbox.occupancy().warm, 0);
  assert.equal(
    readdirSync('/tmp').some((name) => name.startsWith(`workcrate-cell-${process.pid}-`)),
    false,
  );
});

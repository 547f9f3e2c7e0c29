import assert from 'node:assert/strict';
import { readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe } from 'node:test';
import { isWorkcrateError } from '../../../platform/errors.ts';
import { eventually } from '../../../platform/eventually.testing.ts';
import { contractLimits, proves, recordLimitProof, useBench, type MakeSandbox } from './harness.contract.ts';

const mega = 1024 * 1024;

export function limitsContract(make: MakeSandbox): void {
  describe('limits', () => {
    const limits = {
      ...contractLimits,
      memoryBytes: 128 * mega,
      processes: 24,
      cpus: 0.5,
      diskBytes: 24 * mega,
    };
    const bench = useBench(make, { limits });

    proves(bench, 'memory', 'a run that takes more ends as oom', async () => {
      const got = await bench.run(
        'python',
        'print("begun", flush=True)\nkeep = [bytearray(b"x") * (8 << 20) for _ in range(64)]\nprint("had it all")',
      );
      assert.deepEqual([got.reason, got.exitCode, got.out], ['oom', null, 'begun\n'], got.err);
      recordLimitProof('memory', bench);
    });

    proves(bench, 'memory', 'it counts for all processes together', async () => {
      const got = await bench.run(
        'bash',
        `for i in 1 2 3 4 5 6 7 8; do python3 -c 'import time; x = bytearray(b"x") * (40 << 20); print("had it", flush=True); time.sleep(25)' & done; wait -n; kill $(jobs -p); exit 5`,
      );
      // The first that ends has been killed. How many had it for a while says nothing: one that is killed leaves room.
      assert.equal(got.reason, 'oom', got.out);
    });

    proves(bench, 'memory', 'what is in /tmp counts too, or /tmp is full before', async () => {
      const got = await bench.run(
        'bash',
        'for i in $(seq 40); do head -c 8000000 /dev/zero > /tmp/f$i || break; done; du -sm /tmp | cut -f1',
      );
      assert.ok(got.reason !== 'exit' || Number(got.out) <= 128, got.out);
    });

    proves(bench, 'processes', 'a run that takes more ends as pids', async () => {
      const got = await bench.run(
        'python',
        `import os, time
for n in range(200):
    if os.fork() == 0:
        time.sleep(60)
        os._exit(0)
    print(n, flush=True)`,
      );
      assert.equal(got.reason, 'pids', got.err);
      const most = got.out.trim().split('\n').length;
      assert.ok(most <= limits.processes && most >= limits.processes - 4, `${most} children`);
      recordLimitProof('process', bench);
    });

    proves(bench, 'processes', 'a fork bomb ends with its run', async () => {
      const got = await bench.run('bash', 'b() { b | b & }; b; sleep 1; exit 0', { timeoutMs: 5000 });
      assert.notEqual(got.reason, 'lost');
      assert.equal((await bench.run('bash', 'echo fine')).out, 'fine\n');
    });

    proves(bench, 'cpu', 'two that spin get no more than their share', async () => {
      const got = await bench.run(
        'python',
        `import os, time
end = time.monotonic() + 1.5
child = os.fork()
while time.monotonic() < end: pass
if child == 0: os._exit(0)
os.wait()
t = os.times()
print(t.user + t.system + t.children_user + t.children_system)`,
      );
      assert.ok(Number(got.out) < 0.5 * 1.5 + 0.35, `${got.out.trim()} s of 1.5`);
      recordLimitProof('cpu', bench);
    });

    proves(bench, 'file_size', 'no file grows beyond it', async () => {
      const { inside, host } = await bench.folder();
      const code = 'open("big", "wb").write(bytes(40 << 20))';
      const got = await bench.run('python', code, { workingDir: inside });
      assert.notEqual(got.exitCode, 0);
      assert.match(got.err, /File too large/);
      assert.ok((await stat(join(host, 'big'))).size <= limits.fileBytes);
      const sparse = await bench.run('bash', 'truncate -s 1T sparse', { workingDir: inside });
      assert.notEqual(sparse.exitCode, 0);
      await rm(host, { recursive: true });
      recordLimitProof('file-size', bench);
    });

    proves(bench, 'disk', 'a run that fills the folders of its user ends as disk', async () => {
      const { inside, host } = await bench.folder('carl');
      const code = 'for i in {1..200}; do head -c 4000000 /dev/zero > f$i; sleep 0.05; done; echo all';
      const got = await bench.run('bash', code, { user: 'carl', workingDir: inside });
      assert.deepEqual([got.reason, got.out], ['disk', '']);
      const more = await bench.run('bash', code, { user: 'carl', workingDir: inside });
      assert.deepEqual([more.reason, more.out], ['disk', '']);
      const tidied = await bench.run('bash', 'sleep 0.8; rm f*; echo tidy', {
        user: 'carl',
        workingDir: inside,
      });
      assert.equal(tidied.out, 'tidy\n', 'who finds too much there can tidy up');
      await rm(host, { recursive: true });
      recordLimitProof('disk', bench);
    });

    proves(bench, 'disk', 'what was found too much once is not what may be had from then on', async () => {
      const { inside, host } = await bench.folder('dora');
      const run = (code: string) => bench.run('bash', code, { user: 'dora', workingDir: inside });
      const filled = await run('for i in {1..5}; do head -c 15000000 /dev/zero > f$i; done; sleep 20');
      assert.equal(filled.reason, 'disk');
      for (const name of await readdir(host)) await rm(join(host, name));
      const again = await run('for i in 1 2; do head -c 15000000 /dev/zero > f$i; done; sleep 20');
      assert.equal(again.reason, 'disk');
      await rm(host, { recursive: true });
    });

    for (const { user, how, stay } of [
      { user: 'emil', how: 'by runs that are over before anybody looks', stay: 0 },
      { user: 'fred', how: 'by runs that are stopped', stay: 20 },
    ])
      proves(bench, 'disk', `who adds to what is too much, ${how}, is refused in the end`, async () => {
        const { inside, host } = await bench.folder(user);
        const run = (code: string) => bench.run('bash', code, { user, workingDir: inside });
        let runs = 0;
        await eventually(async () => {
          const adding = run(
            `for i in 1 2 3; do head -c 9000000 /dev/zero > f${runs++}-$i; done; sleep ${stay}`,
          );
          return adding.then(
            () => false,
            (error: unknown) => isWorkcrateError(error, 'quota_exceeded'),
          );
        });
        assert.ok(runs > 4, `one fills them and three add to them: ${runs}`);
        await assert.rejects(run('echo more'), { code: 'quota_exceeded' });
        for (const name of await readdir(host)) await rm(join(host, name));
        assert.equal((await run('echo fine')).out, 'fine\n', 'once the operator has made room');
        await rm(host, { recursive: true });
      });

    proves(bench, 'disk', 'inputs have room beside what is there and what is being copied', async () => {
      const place = await bench.place('gina');
      const claim = (share: number) => bench.sandbox.claimDisk(place, share * limits.diskBytes);
      const refused = { code: 'quota_exceeded', message: /Nothing was copied/ };
      await assert.rejects(claim(1.01), refused);
      const first = await claim(0.6);
      await assert.rejects(claim(0.6), refused, 'of the same user, while the first is copied');
      const elsewhere = await bench.sandbox.claimDisk(await bench.place('hugo'), 0.6 * limits.diskBytes);
      elsewhere[Symbol.dispose]();
      first[Symbol.dispose]();
      (await claim(0.6))[Symbol.dispose]();
      const together = await Promise.allSettled(Array.from({ length: 6 }, () => claim(0.3)));
      assert.equal(together.filter(({ status }) => status === 'fulfilled').length, 3);
      for (const each of together) if (each.status === 'fulfilled') each.value[Symbol.dispose]();
      await writeFile(join(place.workspace, 'there'), Buffer.alloc(0.6 * limits.diskBytes));
      await assert.rejects(claim(0.6), refused, 'beside a file that is there');
      await rm(join(place.workspace, 'there'));
      (await claim(0.6))[Symbol.dispose]();
    });

    for (const folder of ['/tmp', '/home/user', '/dev/shm'])
      proves(bench, 'tmp', `${folder} has a size of its own`, async () => {
        const got = await bench.run(
          'bash',
          `for i in 1 2 3 4 5 6; do head -c 4000000 /dev/zero > ${folder}/f$i || break; done; echo $i`,
        );
        assert.deepEqual([got.reason, got.out], ['exit', '5\n'], got.err);
        assert.match(got.err, /No space left on device/);
      });
  });
}

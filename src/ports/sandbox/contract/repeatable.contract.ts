import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { recordProof } from '../../../../test/requirements/requirements.testing.ts';
import { collectText } from '../../../platform/streams.ts';
import type { CellRequest, Language, SandboxSession } from '../sandbox.ts';
import { contractLimits, useBench, type Bench, type MakeSandbox } from './harness.contract.ts';

/** The variable in the interpreter itself, and in a program that it starts. */
const showEpoch: Readonly<Record<Language, string>> = {
  python: `import os, subprocess
print(os.environ["SOURCE_DATE_EPOCH"], flush=True)
subprocess.run(["bash", "-c", "echo $SOURCE_DATE_EPOCH"])`,
  node: `console.log(process.env.SOURCE_DATE_EPOCH);
console.log(require('node:child_process').execFileSync('bash', ['-c', 'echo $SOURCE_DATE_EPOCH']).toString().trim());`,
  bash: `echo "$SOURCE_DATE_EPOCH"; bash -c 'echo $SOURCE_DATE_EPOCH'`,
};

const ownChoice: Readonly<Record<Language, string>> = {
  python: 'os.environ["SOURCE_DATE_EPOCH"] = "7"',
  node: 'process.env.SOURCE_DATE_EPOCH = "7";',
  bash: 'export SOURCE_DATE_EPOCH=7',
};

const languages = Object.keys(showEpoch) as Language[];

const drawWalks = `import matplotlib
matplotlib.use("agg")
import matplotlib.pyplot as plt, numpy as np
plt.plot(np.random.default_rng(1).standard_normal((200, 40)).cumsum(axis=0))
for ending in ("svg", "pdf", "png"):
    plt.savefig("walks." + ending)
plt.style.use("default")
plt.savefig("again.svg")
`;

/** What makes the same code write the same bytes when it is run again. */
export function repeatableContract(make: MakeSandbox): void {
  describe('runs that can be repeated', () => {
    const bench = useBench(make, { limits: { ...contractLimits, memoryBytes: 1024 ** 3 } });

    for (const language of languages)
      it(`SOURCE_DATE_EPOCH is the start of the run, in ${language}`, async () => {
        process.env['SOURCE_DATE_EPOCH'] = '1';
        try {
          const given = await bench.run(language, showEpoch[language], { startedAt: 1_700_000_000_999 });
          assert.equal(given.out, '1700000000\n1700000000\n', given.err);
          const before = Math.floor(Date.now() / 1000);
          const [own] = (await bench.run(language, showEpoch[language])).out.split('\n').map(Number);
          assert.ok(own! >= before && own! <= Date.now() / 1000, String(own));
        } finally {
          delete process.env['SOURCE_DATE_EPOCH'];
        }
        recordProof('B13:date-of-the-run');
      });

    for (const language of languages)
      it(`each cell has that of its own start, unless its code has chosen another, in ${language}`, async () => {
        const session = await startSession(bench, language);
        const show = (startedAt: number) => runCell(session, showEpoch[language], { startedAt });
        assert.equal(await show(5000), '5\n5\n');
        assert.equal(await show(6500), '6\n6\n');
        assert.equal(await show(6900), '6\n6\n');
        await runCell(session, ownChoice[language], { startedAt: 8000 });
        assert.equal(await show(9000), '7\n7\n');
        await session.close();
      });

    it('Python hashes the same every time, also where another program starts it', async () => {
      const show = 'print(hash("workcrate"), list({"a", "b", "c", "d"}))';
      const [one, other] = [await bench.run('python', show), await bench.run('python', show)];
      assert.equal(one.out, other.out);
      assert.equal((await bench.run('bash', `python3 -c '${show}'`)).out, one.out);
      recordProof('B13:one-seed-for-hashes');
    });

    it('seeded figures are the same bytes, as SVG, PDF and PNG', async (t) => {
      const python = await bench.sandbox.pythonPackages();
      if (!python?.packages['matplotlib'] || !python.packages['numpy'])
        return t.skip('the Python of runs here has no numpy and matplotlib');
      const draw = async (language: Language, startedAt: number): Promise<string[]> => {
        const { inside, host } = await bench.folder();
        const code =
          language === 'python' ? drawWalks : `cat > draw.py <<'END'\n${drawWalks}END\npython3 draw.py`;
        const run = await bench.run(language, code, { workingDir: inside, startedAt });
        assert.equal(run.exitCode, 0, run.err);
        const names = ['walks.svg', 'walks.pdf', 'walks.png', 'again.svg'];
        return Promise.all(names.map((name) => hashFile(join(host, name))));
      };
      const first = await draw('python', 1_700_000_000_000);
      assert.deepEqual(await draw('python', 1_700_000_000_500), first);
      // In a program of its own the defaults of matplotlib have no salt.
      assert.deepEqual((await draw('bash', 1_700_000_000_000)).slice(0, 3), first.slice(0, 3));
      // The date in it is that of the run; a PNG has none.
      const later = await draw('python', 1_800_000_000_000);
      assert.deepEqual(
        later.map((hash, at) => hash === first[at]),
        [false, false, true, false],
      );
      recordProof('B13:figures-are-the-same-bytes');
    });
  });
}

const hashFile = async (path: string): Promise<string> =>
  createHash('sha256')
    .update(await readFile(path))
    .digest('hex');

async function startSession(bench: Bench, language: Language): Promise<SandboxSession> {
  return bench.sandbox.startSession({
    id: `sess_${randomBytes(6).toString('hex')}`,
    user: 'anna',
    place: await bench.place('anna'),
    language,
    workingDir: '/workspace',
  });
}

async function runCell(session: SandboxSession, code: string, asked: Partial<CellRequest>): Promise<string> {
  const request = { code, stdin: '', timeoutMs: 30_000, signal: new AbortController().signal, ...asked };
  const run = await session.run(request);
  const [out, err, end] = await Promise.all([collectText(run.stdout), collectText(run.stderr), run.ended]);
  assert.equal(end.exitCode, 0, err);
  return out;
}

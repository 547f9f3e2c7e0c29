import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { recordProof } from '../../../../test/requirements/requirements.testing.ts';
import type { Language, TemporaryFiles } from '../sandbox.ts';
import { useBench, type MakeSandbox } from './harness.contract.ts';
import { runCell, startSession } from './sessions.contract.ts';

const writing: Readonly<Record<Language, string>> = {
  python: `import os, tempfile
for folder in (os.environ['TMPDIR'] + '/a b', os.path.expanduser('~/sub')):
    os.makedirs(folder); open(folder + '/é.csv', 'w').write('12345')
with tempfile.NamedTemporaryFile() as gone: gone.write(b'x')`,
  node: `const { mkdirSync, mkdtempSync, rmSync, writeFileSync } = require('node:fs');
for (const folder of [process.env.TMPDIR + '/a b', process.env.HOME + '/sub'])
  { mkdirSync(folder); writeFileSync(folder + '/é.csv', '12345'); }
rmSync(mkdtempSync(process.env.TMPDIR + '/x'), { recursive: true });`,
  bash: `mkdir "$TMPDIR/a b" ~/sub; printf 12345 | tee "$TMPDIR/a b/é.csv" > ~/sub/é.csv; echo x > "$TMPDIR/gone"; rm "$TMPDIR/gone"`,
};

/** `$TMPDIR` is how `/tmp` is called where that is the machine's. */
const usual = (left: TemporaryFiles | null | undefined): unknown =>
  JSON.parse(JSON.stringify(left).replaceAll('$TMPDIR', '/tmp'));

const bothFiles = {
  files: [
    { path: '/tmp/a b/é.csv', size: 5 },
    { path: '~/sub/é.csv', size: 5 },
  ],
  more: 0,
  complete: true,
};
const nothing = { files: [], more: 0, complete: true };

/** What a run left in its home and temporary folder, which nobody can have afterwards, is told. */
export function temporaryContract(make: MakeSandbox): void {
  describe('temporary files', () => {
    const bench = useBench(make);

    for (const [language, code] of Object.entries(writing) as [Language, string][])
      it(`what ${language} leaves in /tmp and ~ is told, and what it deletes is not`, async () => {
        const { temporaryFiles, err } = await bench.run(language, code);
        assert.deepEqual([usual(temporaryFiles), err], [bothFiles, '']);
        assert.deepEqual(usual((await bench.run(language, '1 + 1')).temporaryFiles), nothing);
        recordProof('D8:not-kept-is-told');
      });

    it('of a run that fails or runs out of time it is told too', async () => {
      const failed = await bench.run('bash', `${writing.bash}; exit 3`);
      assert.deepEqual([failed.exitCode, usual(failed.temporaryFiles)], [3, bothFiles]);
      const late = await bench.run('bash', `${writing.bash}; sleep 60`, { timeoutMs: 1500 });
      assert.deepEqual([late.reason, usual(late.temporaryFiles)], ['timeout', bothFiles]);
    });

    it('caches of interpreters, hidden files, links and folders are not told', async () => {
      const code = `import os, subprocess, sys
home, tmp = os.path.expanduser('~'), os.environ['TMPDIR']
open(tmp + '/own.py', 'w').write('x = 1')
sys.path.insert(0, tmp); sys.dont_write_bytecode = False
import own; del sys.modules['own']
os.unlink(tmp + '/own.py')
for folder in ('/.cache/matplotlib', '/.config'): os.makedirs(home + folder)
for name in (home + '/.cache/matplotlib/fontlist.json', home + '/.node_repl_history'): open(name, 'w').write('x')
os.makedirs(tmp + '/empty/er'); os.symlink('/etc/passwd', tmp + '/link'); os.mkfifo(home + '/pipe')
assert os.listdir(tmp + '/__pycache__')`;
      const { temporaryFiles, err } = await bench.run('python', code);
      assert.deepEqual([usual(temporaryFiles), err], [nothing, '']);
    });

    it('of a huge or hostile tree some are named, and the rest is counted as far as it was looked at', async () => {
      const many = await bench.run(
        'python',
        'import os\nfor n in range(1000): open(f"{os.environ[\'TMPDIR\']}/{n:04}", "w").close()',
      );
      const { files, more, complete } = many.temporaryFiles!;
      assert.deepEqual([files.length, more, complete], [20, 980, true]);
      assert.match(files[19]!.path, /\/0019$/);
      const code = `import os
tmp = os.environ['TMPDIR']
for n in range(2500): open(f'{tmp}/{n}', 'w').close()`;
      const more2 = await bench.run('python', code);
      assert.deepEqual([more2.temporaryFiles!.files.length, more2.temporaryFiles!.complete], [20, false]);
      const odd = `import os
os.chdir(os.environ['TMPDIR'])
open(b'\\xff"\\n', 'w').close()
for n in range(200): os.mkdir('d' * 200); os.chdir('d' * 200)
open('deep', 'w').close(); os.mkdir(os.path.expanduser('~/closed'), 0)`;
      const hostile = await bench.run('python', odd);
      assert.equal(hostile.exitCode, 0, hostile.err);
      assert.equal(hostile.temporaryFiles!.complete, false);
      assert.ok(JSON.stringify(hostile.temporaryFiles).length < 1000);
      recordProof('D8:not-kept-is-bounded');
    });

    for (const language of ['python', 'node', 'bash'] as const)
      it(`of a ${language} session each cell tells what is new there`, async () => {
        const session = await startSession(bench, language);
        const first = await runCell(session, writing[language]);
        assert.deepEqual([usual(first.temporaryFiles), first.err], [bothFiles, '']);
        assert.deepEqual(
          usual((await runCell(session, language === 'bash' ? ':' : '1')).temporaryFiles),
          nothing,
        );
        const last = {
          python: `import os; open(os.environ['TMPDIR'] + '/a b/é.csv', 'a').write('6'); os._exit(0)`,
          node: `require('node:fs').appendFileSync(process.env.TMPDIR + '/a b/é.csv', '6'); process.exit(0)`,
          bash: `printf 6 >> "$TMPDIR/a b/é.csv"; exit 0`,
        };
        const changed = await runCell(session, last[language]);
        const one = { ...nothing, files: [{ path: '/tmp/a b/é.csv', size: 6 }] };
        assert.deepEqual([changed.state, usual(changed.temporaryFiles)], ['lost', one]);
      });
  });
}

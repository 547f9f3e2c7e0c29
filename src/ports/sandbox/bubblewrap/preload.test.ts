import assert from 'node:assert/strict';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { eventually } from '../../../platform/eventually.testing.ts';
import { createLog } from '../../../platform/observability/log.ts';
import { recordProof } from '../../../../test/requirements/requirements.testing.ts';
import { collectText } from '../../../platform/streams.ts';
import { makeEnvironment } from '../environment.testing.ts';
import { putPythonModules } from '../environments.testing.ts';
import { testPlaces } from '../places.testing.ts';
import { contractOptions } from '../sandbox.contract.ts';
import { findMissingScience } from '../science.testing.ts';
import { bubblewrapSandbox, type BubblewrapOptions } from './bubblewrap.ts';
import { findImports, planPreload } from './preload.ts';

const science = ['numpy', 'pandas', 'matplotlib.pyplot'];

/** A sandbox whose first user has what can be loaded, and a function that runs Python there. */
async function openLoaded(options: Partial<BubblewrapOptions>) {
  await using cleaning = new AsyncDisposableStack();
  const places = cleaning.use(await testPlaces());
  const logged: string[] = [];
  const log = createLog('debug', (line) => void logged.push(line));
  const sandbox = cleaning.use(
    await bubblewrapSandbox({ ...contractOptions, python: null, log, ...options }),
  );
  const place = await places.place('ann');
  await sandbox.warm('ann', place);
  const preload = (await sandbox.preload())!;
  const all = cleaning.move();
  return {
    sandbox,
    place,
    preload,
    logged,
    async run(code: string): Promise<string> {
      const run = await sandbox.start({
        id: 'exec_000000000001',
        user: 'ann',
        place,
        language: 'python',
        code,
        workingDir: '/workspace',
        stdin: '',
        timeoutMs: 60_000,
        signal: new AbortController().signal,
      });
      const [out, err, end] = await Promise.all([
        collectText(run.stdout),
        collectText(run.stderr),
        run.ended,
      ]);
      assert.deepEqual([end.reason, end.exitCode], ['exit', 0], err);
      return out;
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** Code that tells before its first import what was loaded; the text of it names pandas, as that of a user would. */
const tellLoaded = (rest: string): string => `import sys
print([name for name in ("numpy", "pandas", "matplotlib.pyplot") if name in sys.modules])
import pandas
${rest}`;

/** A Python whose packages are a test's own: `loaded`, which needs `beside`. */
const ownPackages = { loaded: 'import beside\nvalue = "system"', beside: 'value = "system"' };
const ownPreload = ['loaded'];

it('libraries that are loaded in advance hide nothing that the user has installed', async () => {
  using environment = makeEnvironment(ownPackages);
  await using it = await openLoaded({ python: environment.python, pythonPreload: ownPreload });
  assert.deepEqual(it.preload.loaded, ownPreload);
  const code =
    'import sys\nwas = "loaded" in sys.modules\nimport loaded, beside\nprint(was, loaded.value, beside.value)';
  assert.equal(await it.run(code), 'True system system\n');
  const runtime = await it.sandbox.runtime('python');
  putPythonModules(it.place, runtime, { 'other.py': '' });
  assert.equal(await it.run(code), 'True system system\n');
  putPythonModules(it.place, runtime, { 'beside.py': 'value = "own"' });
  assert.equal(await it.run(code), 'False system own\n');
  putPythonModules(it.place, runtime, { 'loaded.py': 'value = "own"' });
  assert.equal(await it.run(code), 'False own system\n');
  const session = await it.sandbox.startSession({
    id: 'sess_000000000002',
    user: 'ann',
    place: it.place,
    language: 'python',
    workingDir: '/workspace',
  });
  const { signal } = new AbortController();
  const cell = await session.run({ code, stdin: '', timeoutMs: 60_000, signal });
  const [out] = await Promise.all([collectText(cell.stdout), collectText(cell.stderr)]);
  assert.equal(out, 'False own system\n');
  await session.close();
});

describe('libraries that are loaded in advance', { skip: findMissingScience() }, () => {
  it('are there in every run that imports something, and are the usual modules', async () => {
    await using it = await openLoaded({ pythonPreload: science });
    assert.deepEqual([it.preload.loaded, it.preload.failed], [science, {}]);
    assert.ok(it.logged.some((line) => line.includes('"event":"sandbox.preloaded"')));
    const frame = await it.run(tellLoaded('print(pandas.DataFrame({"a": [1, 2]}).sum().a)'));
    assert.equal(frame, "['numpy', 'pandas', 'matplotlib.pyplot']\n3\n");
    const png = 'import matplotlib.pyplot as plt\nplt.plot([1, 4, 9])\nplt.savefig("plot.png")\n';
    assert.equal(await it.run(`${png}print(open("plot.png", "rb").read(4))`), "b'\\x89PNG'\n");
    // Each run draws numbers of its own, has the environment of any other, and a single thread until it needs more.
    const state =
      'import os, random, numpy\nprint(sorted(os.environ), len(os.listdir("/proc/self/task")), numpy.random.random(), random.random())';
    const [one, other] = [await it.run(state), await it.run(state)].map((text) => text.split(' '));
    assert.deepEqual(one!.slice(0, 10), other!.slice(0, 10));
    assert.equal(
      one!.slice(0, 10).join(' '),
      "['HOME', 'LANG', 'MATPLOTLIBRC', 'PATH', 'PYTHONHASHSEED', 'SOURCE_DATE_EPOCH', 'TERM', 'TMPDIR', 'USER'] 1",
    );
    assert.notEqual(one![10], other![10]);
    assert.notEqual(one![11], other![11]);
    writeFileSync(join(it.place.workspace, 'matplotlibrc'), 'lines.linewidth: 7\n');
    assert.equal(await it.run('import matplotlib\nprint(matplotlib.rcParams["lines.linewidth"])'), '7.0\n');
    const multiply = 'import numpy\nm = numpy.ones((500, 500))\nprint((m @ m)[0, 0])';
    assert.equal(await it.run(multiply), '500.0\n');
    // Runs that import only what comes with Python have none of it.
    assert.equal(await it.run('import sys, json\nprint("numpy" in sys.modules)'), 'False\n');
    assert.equal(await it.run('print(6 * 7)'), '42\n');
  });

  it('leave no thread behind that would keep a session from a checkpoint', async () => {
    await using it = await openLoaded({ pythonPreload: science });
    const { place } = it;
    const session = await it.sandbox.startSession({
      id: 'sess_000000000001',
      user: 'ann',
      place,
      language: 'python',
      workingDir: '/workspace',
    });
    const run = async (code: string): Promise<string> => {
      const { signal } = new AbortController();
      const cell = await session.run({ code, stdin: '', timeoutMs: 60_000, signal });
      const [out, err] = await Promise.all([collectText(cell.stdout), collectText(cell.stderr)]);
      assert.equal(err, '');
      return out;
    };
    // Its own threads: there are some where there are several cores.
    await run('import numpy, os\nm = numpy.ones((500, 500))\nm = m @ m');
    await session.checkpoint('multiplied');
    await run('m = None');
    await session.restore('multiplied');
    assert.equal(await run('print((m @ m)[0, 0])'), '125000000.0\n');
    await session.close();
  });

  it('take nothing of the memory that a run may use', async (t) => {
    const limits = { ...contractOptions.limits, memoryBytes: 32 * 1024 ** 2 };
    await using it = await openLoaded({ pythonPreload: science, limits });
    if (it.sandbox.holds.memory !== true) return t.skip(`no control group limits memory here`);
    const code = tellLoaded(
      'import matplotlib.pyplot, os\nprint(int(open("/proc/self/statm").read().split()[1]) * 4 > 50_000)',
    );
    assert.equal(await it.run(code), "['numpy', 'pandas', 'matplotlib.pyplot']\nTrue\n");
    recordProof('D19:takes-nothing-of-a-run-s-memory');
  });
});

describe('libraries of a virtual environment', () => {
  it('are used by runs, and one that is broken is told and left out', async () => {
    using environment = makeEnvironment({
      whole: 'print("loading")\nvalue = 7',
      broken: 'raise RuntimeError("half of it is missing\\nhere")',
    });
    const pythonPreload = ['whole', 'broken', 'not_installed'];
    await using it = await openLoaded({ python: environment.python, pythonPreload });
    assert.deepEqual(it.preload.loaded, ['whole']);
    assert.deepEqual(it.preload.failed, { broken: 'RuntimeError: half of it is missing\\nhere' });
    assert.ok(
      it.logged.some((line) => /"event":"sandbox.not_preloaded".*half of it/.test(line)),
      it.logged.join(''),
    );
    const code = 'import sys\nprint(sys.prefix, "whole" in sys.modules)\nimport whole\nprint(whole.value)';
    assert.equal(await it.run(code), `${environment.folder} True\n7\n`);
    const child =
      'import subprocess, whole\nprint(subprocess.check_output(["python3", "-c", "import sys; print(sys.prefix)"], text=True))';
    assert.equal(await it.run(child), `${environment.folder}\n\n`);
    recordProof('D13:virtual-environment-of-the-python-setting', 'D19:broken-library-is-left-out');
  });

  for (const [what, text, reason] of [
    [
      'crashes Python',
      'import os\nos.kill(os.getpid(), 11)',
      'SIGSEGV ended the process that loads libraries',
    ],
    [
      'leaves a thread',
      'import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()',
      'it leaves threads running (1)',
    ],
    ['ends Python', 'raise SystemExit(3)', 'SystemExit: 3'],
  ] as const)
    it(`one that ${what} is left out, and runs go on`, async () => {
      using environment = makeEnvironment({ odd: text });
      await using it = await openLoaded({ python: environment.python, pythonPreload: ['odd'] });
      assert.deepEqual([it.preload.loaded, it.preload.failed], [[], { odd: reason }]);
      await eventually(async () => (await it.run('import sys\nprint("odd" in sys.modules)')) === 'False\n');
    });

  it('are not loaded from where others can write', async () => {
    using environment = makeEnvironment({ mine: '', open: '' });
    chmodSync(join(environment.site, 'open'), 0o777);
    const plan = await planPreload(environment.python, ['mine', 'open', 'missing']);
    assert.deepEqual(plan.names, ['mine']);
    assert.deepEqual(plan.failed, { open: `others can write to ${join(environment.site, 'open')}` });
    assert.deepEqual(
      [plan.isWantedBy('import json, os.path as p'), plan.isWantedBy('import mine')],
      [false, true],
    );
  });
});

it('imports are found in the text of code', () => {
  for (const [code, names] of [
    ['print("import nothing")', []],
    ['import os', ['os']],
    ['import os.path as p, json\n', ['os', 'json']],
    ['if 1:\n    from pandas.io import sql', ['pandas']],
    ['x = 1; import numpy as np', ['numpy']],
    ['try: import numpy\nexcept ImportError: pass', ['numpy']],
    ['from . import x', ['']],
    ['m = __import__("numpy")', ['__import__']],
    ['# import\nimportant = 1', []],
  ] as const)
    assert.deepEqual(
      findImports(code),
      names.filter((name) => name !== ''),
      code,
    );
});

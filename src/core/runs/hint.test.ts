import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import type { PythonPackages } from '../../ports/sandbox/sandbox.ts';
import type { ToolAnswer, ToolContext } from '../offer/tool.ts';
import {
  describeMissingPackage,
  describeSurroundings,
  toInstallCommand,
  type Surroundings,
} from './surroundings.ts';
import type { Execution } from './fields.ts';
import { ada, openRoom, watching } from './room.testing.ts';

const python: PythonPackages = {
  version: '3.11',
  isDebian: true,
  packages: { numpy: '1.24.2', pandas: '', matplotlib: null, scipy: null },
};
const walled: Surroundings = {
  kind: 'bubblewrap',
  folders: null,
  hasNetwork: false,
  allowedHosts: null,
  canInstall: false,
  memoryBytes: 1024 ** 3,
  python,
};

const ended = (language: Execution['language'], stderr: string, exitCode = 1) =>
  ({ language, stderr, exitCode, reason: 'exit' }) as const;

/** What the interpreter itself says. */
function failing(program: string, args: string[]): string {
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  assert.notEqual(status, 0);
  return stderr;
}

test('a missing module of Python comes with what is there, and what to do', () => {
  const stderr = failing('python3', ['-c', 'import matplotlib_is_not_here.pyplot']);
  assert.match(
    describeMissingPackage(ended('python', stderr), walled)!,
    /^Python has no matplotlib_is_not_here here\. /,
  );
  const traceback =
    'Traceback (most recent call last):\n  File "<string>", line 1\nModuleNotFoundError: No module named \'matplotlib\'\n';
  assert.equal(
    describeMissingPackage(ended('python', traceback), walled),
    'Python has no matplotlib here. No network, so no pip or npm install. Python 3.11 with numpy 1.24.2, pandas and without matplotlib, scipy. Only whoever runs the server can install more: apt-get install python3-matplotlib.',
  );
  assert.ok(describeMissingPackage(ended('bash', traceback), walled), 'a script that starts Python');
  const elsewhere = { ...walled, python: { ...python, isDebian: false } };
  assert.match(describeMissingPackage(ended('python', traceback), elsewhere)!, /can install more\.$/);
  const docker: Surroundings = { ...walled, kind: 'docker' };
  assert.match(
    describeMissingPackage(ended('python', traceback), docker)!,
    /in the image that code runs in: apt-get/,
  );
  const unknown = { ...walled, python: null };
  assert.equal(
    describeMissingPackage(ended('python', traceback), unknown),
    'Python has no matplotlib here. No network, so no pip or npm install. Only whoever runs the server can install more.',
  );
});

test('missing packages of Node, programs, and installs that cannot work come with what to do', () => {
  for (const code of ['require("left-pad")', 'import("left-pad")'])
    assert.match(
      describeMissingPackage(ended('node', failing(process.execPath, ['-e', code])), walled)!,
      /^Node has no module left-pad here, only its built-in modules, .*\. No network/,
    );
  const command = failing('bash', ['-c', 'no-such-program --version']);
  assert.match(
    describeMissingPackage(ended('bash', command, 127), walled)!,
    /^There is no program no-such-program here\./,
  );
  for (const line of [
    'error: externally-managed-environment\n\n× This environment is externally managed\nhint: See PEP 668.',
    'WARNING: Retrying\nERROR: No matching distribution found for pandas\n',
  ])
    assert.match(
      describeMissingPackage(ended('bash', line), walled)!,
      /^A run cannot install anything\. No network/,
    );
});

test('where users may install packages, the call that does it is named', () => {
  const open = { ...walled, canInstall: true };
  const say = (language: 'python' | 'node', stderr: string) =>
    describeMissingPackage(ended(language, stderr), open);
  assert.equal(
    say('python', "ModuleNotFoundError: No module named 'sklearn.cluster'"),
    'Python has no sklearn here. Install it: install_packages {"language":"python","names":["scikit-learn"]}, then run the code again.',
  );
  assert.match(
    say('node', "Error: Cannot find module '@scope/name/part'")!,
    /install_packages \{"language":"node","names":\["@scope\/name"\]\}/,
  );
  assert.match(
    say('python', 'error: externally-managed-environment')!,
    /^A run cannot install anything\. No network: packages by install_packages, not by pip or npm\. /,
  );
  assert.doesNotMatch(say('python', 'error: externally-managed-environment')!, /whoever runs/);
});

test('a program that finds no host comes with what to do without a network', () => {
  const lines = [
    'curl: (6) Could not resolve host: example.org',
    'wget: unable to resolve host address ‘example.org’',
    "fatal: unable to access 'https://github.com/a/b/': Could not resolve host: github.com",
    'urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name resolution>',
    'socket.gaierror: [Errno -2] Name or service not known',
    'OSError: [Errno 101] Network is unreachable',
    'Error: getaddrinfo EAI_AGAIN example.org\n    at GetAddrInfoReqWrap.onlookupall',
  ];
  for (const line of lines) {
    assert.equal(
      describeMissingPackage(ended('bash', `before\n${line}\n`), walled),
      'There is no network here, so code fetches nothing. A file gets in by request_upload or client_files.',
      line,
    );
    const open = { ...walled, hasNetwork: true };
    assert.equal(describeMissingPackage(ended('bash', line), open), null);
    const listed = { ...walled, allowedHosts: 'pypi.org', canInstall: true };
    assert.match(
      describeMissingPackage(ended('bash', line), listed)!,
      /pypi\.org only, .* Packages are installed by install_packages\.$/,
    );
  }
  assert.equal(describeMissingPackage(ended('bash', 'echo curl: (6) Could not resolve host'), walled), null);
});

test('nothing is said of programs that did not fail for that, or where nobody knows what there is', () => {
  const missing = "ModuleNotFoundError: No module named 'scipy'";
  const silent: [Parameters<typeof describeMissingPackage>[0], Surroundings | null][] = [
    [ended('python', missing, 0), walled],
    [ended('python', missing), null],
    [{ ...ended('python', missing), reason: 'timeout' }, walled],
    [ended('python', `${missing}\nand more`), walled],
    [ended('python', `caught: ${missing}`), walled],
    [ended('python', "ModuleNotFoundError: No module named 'numpy.nothing'"), walled],
    [ended('python', "ModuleNotFoundError: No module named 'a b; rm'"), walled],
    [ended('python', `ModuleNotFoundError: No module named '${'x'.repeat(1000)}'`), walled],
    [ended('node', "Error: Cannot find module './mine.js'"), walled],
    [ended('python', "Error: Cannot find module 'left-pad'"), walled],
    [ended('python', ''), walled],
  ];
  for (const [run, surroundings] of silent)
    assert.equal(describeMissingPackage(run, surroundings), null, run.stderr.slice(0, 80));
});

test('what is there is told in a sentence or two', () => {
  assert.equal(describeSurroundings(null), '');
  assert.equal(
    describeSurroundings(walled),
    ' No network, so no pip or npm install. Python 3.11 with numpy 1.24.2, pandas and without matplotlib, scipy.',
  );
  const packages = { numpy: '2.0' };
  const open: Surroundings = {
    kind: 'subprocess',
    folders: null,
    hasNetwork: true,
    allowedHosts: null,
    canInstall: false,
    memoryBytes: null,
    python: { ...python, packages },
  };
  assert.equal(describeSurroundings(open), ' Python 3.11 with numpy 2.0.');
  assert.equal(
    toInstallCommand(python, ['matplotlib', 'sklearn', 'unheard_of']),
    'apt-get install python3-matplotlib python3-sklearn',
  );
});

test('the tools say what code finds where it runs, and results what is missing', async () => {
  await using room = await openRoom({ surroundings: walled });
  const [code, bash] = room.tools;
  assert.match(
    code!.description,
    /No network, .*Python 3\.11 with numpy 1\.24\.2, pandas and without .*\. 1 GB of memory\.$/,
  );
  assert.deepEqual([code!.annotations.openWorldHint, bash!.annotations.openWorldHint], [false, false]);
  await using open = await openRoom({ surroundings: { ...walled, hasNetwork: true } });
  await using unknown = await openRoom({ mayHaveNetwork: true });
  for (const tool of [...open.tools.slice(0, 2), ...unknown.tools.slice(0, 2)])
    assert.equal(tool.annotations.openWorldHint, true);
  const input = { language: 'python', code: 'import no_such_package' };
  const context = { caller: ada, client: { name: null }, ...watching() } as unknown as ToolContext;
  const answer = await code!.handle(input, context);
  const { text, structured } = answer as ToolAnswer<{ hint: string }>;
  assert.match(structured.hint, /^Python has no no_such_package here\./);
  assert.ok(text.endsWith(`ms]\n${structured.hint}`), text);
});

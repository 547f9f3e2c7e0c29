import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { collectText } from '../../../platform/streams.ts';
import { testPlaces } from '../places.testing.ts';
import { contractOptions } from '../sandbox.contract.ts';
import { bubblewrapSandbox } from './bubblewrap.ts';
import { findPython } from './launch.ts';

it('a Python in a home folder that nobody else may enter brings its prefix along', async () => {
  // Not below /tmp, which is fresh in every run.
  const home = mkdtempSync('/var/tmp/workcrate-home-');
  try {
    const prefix = copyOfPython(join(home, 'versions', '3'));
    const python = join(prefix, 'bin', 'python3');
    assert.deepEqual(await findPython(python), { path: python, folders: [prefix], prefix });
    await using places = await testPlaces();
    await using sandbox = await bubblewrapSandbox({ ...contractOptions, python });
    const run = await sandbox.start({
      id: 'exec_000000000001',
      user: 'ann',
      place: await places.place('ann'),
      language: 'python',
      code: 'import json, subprocess, sys\nprint(sys.prefix)\nprint(subprocess.check_output(["python3", "-c", "import sys; print(sys.prefix)"], text=True))',
      workingDir: '/workspace',
      stdin: '',
      timeoutMs: 20_000,
      signal: new AbortController().signal,
    });
    const [out, err] = await Promise.all([collectText(run.stdout), collectText(run.stderr), run.ended]);
    assert.equal(out, `${prefix}\n${prefix}\n\n`, err);
  } finally {
    rmSync(home, { recursive: true });
  }
});

it('a Python that is not there is named, with what to do', async () => {
  await assert.rejects(findPython('/nowhere/python3'), {
    code: 'sandbox_unavailable',
    message: /needs python3, and \/nowhere\/python3 does not run\. Install it/,
  });
});

/** The system's interpreter under another prefix, as pyenv lays one out. */
function copyOfPython(prefix: string): string {
  const ask =
    'import sys, os, sysconfig; print(os.path.realpath(sys.executable)); print(sysconfig.get_path("stdlib"))';
  const [binary, library] = execFileSync('/usr/bin/python3', ['-c', ask], { encoding: 'utf8' }).split('\n');
  mkdirSync(join(prefix, 'bin'), { recursive: true });
  cpSync(binary!, join(prefix, 'bin', 'python3'));
  const name = library!.split('/').at(-1)!;
  const isNeeded = (path: string): boolean =>
    !/\/(?:test|__pycache__|config-[^/]*|dist-packages)$/.test(path);
  cpSync(library!, join(prefix, 'lib', name), { recursive: true, filter: isNeeded, dereference: true });
  return prefix;
}

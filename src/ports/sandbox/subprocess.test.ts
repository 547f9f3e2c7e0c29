import assert from 'node:assert/strict';
import { it } from 'node:test';
import { collectText } from '../../platform/streams.ts';
import { makeEnvironment } from './environment.testing.ts';
import { contractOptions, sandboxContract } from './sandbox.contract.ts';
import { joinPlaces, testPlaces } from './places.testing.ts';
import { subprocessSandbox } from './subprocess.ts';

sandboxContract('subprocess', async (options) => {
  // Runs of another uid have to reach their folder by its path.
  const places = await testPlaces(0o711);
  const sandbox = await subprocessSandbox({ ...contractOptions, python: null, ...options });
  return joinPlaces(sandbox, places);
});

it('a virtual environment is used with its packages, and a Python that does not run is refused', async () => {
  using environment = makeEnvironment({ own_package: 'value = 7' });
  await using places = await testPlaces(0o711);
  const named = { ...contractOptions, python: environment.python };
  await using sandbox = await subprocessSandbox(named);
  const run = await sandbox.start({
    id: 'exec_000000000001',
    user: 'ann',
    place: await places.place('ann'),
    language: 'python',
    code: 'import own_package, sys\nprint(sys.prefix, own_package.value)',
    workingDir: '/workspace',
    stdin: '',
    timeoutMs: 20_000,
    signal: new AbortController().signal,
  });
  const [out, err] = await Promise.all([collectText(run.stdout), collectText(run.stderr), run.ended]);
  assert.equal(out, `${environment.folder} 7\n`, err);
  await assert.rejects(subprocessSandbox({ ...contractOptions, python: '/nowhere/python3' }), {
    code: 'sandbox_unavailable',
    message: '/nowhere/python3 does not run. Name another with --python.',
  });
});

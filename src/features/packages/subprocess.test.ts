import { joinPlaces, testPlaces } from '../../ports/sandbox/places.testing.ts';
import { contractOptions } from '../../ports/sandbox/sandbox.contract.ts';
import { subprocessSandbox } from '../../ports/sandbox/subprocess.ts';
import { packagesContract } from './packages.contract.ts';

packagesContract('subprocess', async () => {
  // Runs of another uid have to reach their folder by its path.
  const places = await testPlaces(0o711);
  const limits = { ...contractOptions.limits, diskBytes: 200 * 1024 ** 2 };
  const sandbox = await subprocessSandbox({ ...contractOptions, limits, python: null });
  return joinPlaces(sandbox, places);
});

import { bubblewrapSandbox } from '../../ports/sandbox/bubblewrap/bubblewrap.ts';
import { joinPlaces, testPlaces } from '../../ports/sandbox/places.testing.ts';
import { contractOptions } from '../../ports/sandbox/sandbox.contract.ts';
import { packagesContract } from './packages.contract.ts';

packagesContract('bubblewrap', async () => {
  const places = await testPlaces();
  const limits = { ...contractOptions.limits, memoryBytes: 1024 ** 3, diskBytes: 200 * 1024 ** 2 };
  const sandbox = await bubblewrapSandbox({ ...contractOptions, limits, python: null });
  return joinPlaces(sandbox, places);
});

import { joinPlaces, testPlaces } from '../places.testing.ts';
import { contractOptions, sandboxContract } from '../sandbox.contract.ts';
import { bubblewrapSandbox } from './bubblewrap.ts';

sandboxContract('bubblewrap', async (options) => {
  const places = await testPlaces();
  const sandbox = await bubblewrapSandbox({ ...contractOptions, python: null, ...options });
  return joinPlaces(sandbox, places);
});

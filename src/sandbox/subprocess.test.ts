import { contractOptions, sandboxContract } from './sandbox.contract.ts';
import { testPlaces } from './places.testing.ts';
import { subprocessSandbox } from './subprocess.ts';

sandboxContract('subprocess', async (options) => {
  // Runs of another uid have to reach their folder by its path.
  const places = await testPlaces(0o711);
  const sandbox = await subprocessSandbox({ ...contractOptions, ...options });
  return {
    sandbox,
    place: (user) => places.place(user),
    async [Symbol.asyncDispose]() {
      await sandbox[Symbol.asyncDispose]();
      await places[Symbol.asyncDispose]();
    },
  };
});

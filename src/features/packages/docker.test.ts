import { after, describe } from 'node:test';
import { dockerSandbox } from '../../ports/sandbox/docker/docker.ts';
import { findEngine, noEngine } from '../../ports/sandbox/docker/engine.testing.ts';
import { joinPlaces, testPlaces } from '../../ports/sandbox/places.testing.ts';
import { contractOptions } from '../../ports/sandbox/sandbox.contract.ts';
import { packagesContract } from './packages.contract.ts';

const engine = await findEngine();
let count = 0;

describe('packages in containers', { skip: engine === null && noEngine }, () => {
  after(async () => engine?.[Symbol.asyncDispose]());

  packagesContract('docker', async () => {
    const places = await testPlaces();
    const { socket, image } = engine!;
    const limits = { ...contractOptions.limits, memoryBytes: 1024 ** 3, diskBytes: 200 * 1024 ** 2 };
    const instance = `packages-${count++}`;
    const sandbox = await dockerSandbox({
      ...contractOptions,
      limits,
      socket,
      image,
      instance,
      runtime: null,
    });
    return joinPlaces(sandbox, places);
  });
});

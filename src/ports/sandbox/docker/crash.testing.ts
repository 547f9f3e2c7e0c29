import { createLog } from '../../../platform/observability/log.ts';
import { testPlaces } from '../places.testing.ts';
import { dockerSandbox, type DockerOptions } from './docker.ts';

/** A server that has one container running and one waiting, and waits to be killed. */
const options = JSON.parse(process.env['CRASH_OPTIONS']!) as DockerOptions;
const sandbox = await dockerSandbox({ ...options, log: createLog('off') });
const places = await testPlaces();
const place = await places.place('anna');
await sandbox.start({
  id: 'exec_000000000000',
  user: 'anna',
  place,
  language: 'bash',
  code: 'sleep 600',
  workingDir: '/workspace',
  stdin: '',
  timeoutMs: 600_000,
  signal: new AbortController().signal,
});
await sandbox.warm('anna', place);
// Nothing of it is needed any more, and nobody would remove it later.
await places[Symbol.asyncDispose]();
process.stdout.write('up\n');

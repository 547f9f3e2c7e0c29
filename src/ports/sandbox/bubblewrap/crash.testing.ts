import { createLog } from '../../../platform/observability/log.ts';
import { contractOptions } from '../contract/harness.contract.ts';
import { testPlaces } from '../places.testing.ts';
import { bubblewrapSandbox } from './bubblewrap.ts';

/** A server that is killed so many milliseconds after it has begun to start a sandbox for a user. */
const sandbox = await bubblewrapSandbox({ ...contractOptions, python: null, log: createLog('off') });
const places = await testPlaces();
const place = await places.place('anna');
process.stdout.write('begun\n');
void sandbox.warm('anna', place);
const afterMs = Number(process.argv[2]);
if (afterMs === 0) setImmediate(() => process.kill(process.pid, 'SIGKILL'));
else setTimeout(() => process.kill(process.pid, 'SIGKILL'), afterMs);

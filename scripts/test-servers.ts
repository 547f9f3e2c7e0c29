import { startPostgres } from '../src/ports/database/postgres.testing.ts';
import { sharedEngineVariable, startEngine } from '../src/ports/sandbox/docker/engine.testing.ts';
import { startAzurite } from '../src/ports/storage/azurite.testing.ts';
import { startCeph } from '../src/ports/storage/ceph.testing.ts';

export interface ServersWanted {
  readonly ceph: boolean;
  readonly azurite: boolean;
  readonly docker: boolean;
  /** The PostgreSQL that npm brings, and Debian's. */
  readonly postgres: boolean;
  readonly postgres15: boolean;
}

/**
 * Starts one server of each kind that is needed for all test files, since each would take long to start its own.
 * They find them by environment variables; one that cannot be had is missing there.
 */
export async function startServers(wanted: ServersWanted) {
  await using starting = new AsyncDisposableStack();
  const start = async <T extends AsyncDisposable>(
    isWanted: boolean,
    begin: () => Promise<T | null>,
  ): Promise<T | null> => starting.use(isWanted ? await begin() : null);
  const [ceph, azurite, engine, postgres, postgres15] = await Promise.all([
    start(wanted.ceph, startCeph),
    start(wanted.azurite, startAzurite),
    start(wanted.docker, startEngine),
    start(wanted.postgres, startPostgres),
    start(wanted.postgres15, () => startPostgres('15')),
  ]);
  const env: Record<string, string> = {};
  if (ceph !== null) env['WORKCRATE_TEST_S3'] = JSON.stringify(ceph);
  if (azurite !== null) env['WORKCRATE_TEST_AZURE'] = JSON.stringify(azurite);
  if (engine !== null) env[sharedEngineVariable] = JSON.stringify(engine);
  const started = starting.move();
  return {
    env,
    /** By the version: those of a round use the same. */
    postgres: { 18: postgres?.server, 15: postgres15?.server },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

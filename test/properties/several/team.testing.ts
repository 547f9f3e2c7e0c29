import { randomBytes } from 'node:crypto';
import {
  findPostgres,
  NO_POSTGRES,
  type TestPostgres,
} from '../../../src/ports/database/postgres.testing.ts';
import { NO_AZURITE, startAzurite } from '../../../src/ports/storage/azurite.testing.ts';
import { startCeph } from '../../../src/ports/storage/ceph.testing.ts';
import { serve, temporaryFolder, type Program } from '../../behaviour/cli/program.testing.ts';

/** One PostgreSQL and one object store, on which any number of servers can be started. */
export interface Team extends AsyncDisposable {
  /** The settings that all servers share. */
  readonly env: Record<string, string>;
  /** Another process of the same program, with a data folder of its own. */
  start(args?: readonly string[]): Promise<Program>;
}

/** A team's backends, or why there are none. */
export async function startTeam(on?: TestPostgres | null): Promise<Team | string> {
  await using opened = new AsyncDisposableStack();
  const postgres = on === undefined ? await findPostgres() : on;
  if (postgres === null) return NO_POSTGRES;
  opened.use(postgres);
  const store = await startStore(opened);
  if (store === null) return NO_AZURITE;
  const places = opened.use(await temporaryFolder());
  const env = { ...store, WORKCRATE_DATABASE: await postgres.url(), WORKCRATE_PLACES_DIR: places.path };
  const all = opened.move();
  return {
    env,
    async start(args = []) {
      const folder = await temporaryFolder();
      all.use(folder);
      return all.use(await serve(['--data', folder.path, ...args], { env }));
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** Ceph, or else Azurite, which npm brings. */
async function startStore(opened: AsyncDisposableStack): Promise<Record<string, string> | null> {
  const prefix = `several-${randomBytes(8).toString('hex')}`;
  const ceph = await startCeph();
  if (ceph !== null) {
    opened.use(ceph);
    return {
      WORKCRATE_STORAGE: 's3',
      WORKCRATE_S3_BUCKET: ceph.bucket,
      WORKCRATE_S3_PREFIX: prefix,
      AWS_ENDPOINT_URL_S3: ceph.endpoint,
      AWS_REGION: ceph.region,
      AWS_ACCESS_KEY_ID: ceph.accessKeyId,
      AWS_SECRET_ACCESS_KEY: ceph.secretAccessKey,
    };
  }
  const azurite = await startAzurite();
  if (azurite === null) return null;
  opened.use(azurite);
  return {
    WORKCRATE_STORAGE: 'azure',
    WORKCRATE_AZURE_CONTAINER: azurite.container,
    WORKCRATE_AZURE_PREFIX: prefix,
    WORKCRATE_AZURE_ENDPOINT: azurite.endpoint,
    AZURE_STORAGE_ACCOUNT: azurite.account,
    AZURE_STORAGE_KEY: azurite.key,
  };
}

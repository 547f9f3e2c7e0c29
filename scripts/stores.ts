import { startAzurite } from '../src/storage/azurite.testing.ts';
import { startCeph } from '../src/storage/ceph.testing.ts';

/**
 * Starts one object store of each kind that is needed for all test files, since each would take long to start its own.
 * They find them by environment variables; a store that cannot be had is null.
 */
export async function startStores(needs: { readonly ceph: boolean; readonly azurite: boolean }) {
  const [ceph, azurite] = await Promise.all([
    needs.ceph ? startCeph() : null,
    needs.azurite ? startAzurite() : null,
  ]);
  const env: Record<string, string> = {};
  if (ceph !== null) env['WORKCRATE_TEST_S3'] = JSON.stringify(ceph);
  if (azurite !== null) env['WORKCRATE_TEST_AZURE'] = JSON.stringify(azurite);
  return {
    env,
    async [Symbol.asyncDispose](): Promise<void> {
      await Promise.all([ceph?.[Symbol.asyncDispose](), azurite?.[Symbol.asyncDispose]()]);
    },
  };
}

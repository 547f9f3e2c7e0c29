import { existsSync } from 'node:fs';
import type { Config } from '../config.ts';
import { openBackend } from '../database/open.ts';
import { openStorage } from '../storage/open.ts';
import { databaseLocation, storageOptions } from '../stores.ts';
import { createIssuer } from '../users/issuer.ts';
import { demandIssuer } from '../users/issuer-url.ts';
import { listKeys } from '../users/keys.ts';
import type { Finding } from './doctor.ts';
import { program } from '../program.ts';

/** What a server for a team needs: a store that answers and takes bytes, people who can sign in. */
export async function teamFindings(config: Config): Promise<Finding[]> {
  return [
    ...(config.storage === 's3' || config.storage === 'azure' ? [await store(config)] : []),
    ...(config.auth.includes('keys') ? [await keys(config)] : []),
    ...(config.auth.includes('oauth') ? [await issuer(config)] : []),
  ];
}

async function store(config: Config): Promise<Finding> {
  try {
    const storage = await openStorage(storageOptions(config));
    try {
      await storage.probe();
      return { state: 'ok', what: `storage: ${config.storage} answers and can be written to` };
    } finally {
      await storage.close();
    }
  } catch (error) {
    return { state: 'broken', what: `storage: ${(error as Error).message}` };
  }
}

async function keys(config: Config): Promise<Finding> {
  const good = await countKeys(config).catch(() => 0);
  if (good > 0) return { state: 'ok', what: `users: ${good} valid keys` };
  const remedy = `${program} user add NAME makes one`;
  return { state: 'note', what: 'users: nobody has a valid key', remedy };
}

/** Leaves the database as it is, also one that is not there yet, or not up to date. */
async function countKeys(config: Config): Promise<number> {
  const location = databaseLocation(config);
  if (config.database === null && !existsSync(location)) return 0;
  const database = await openBackend(location);
  try {
    const now = Date.now();
    return (await listKeys(database)).filter(({ expiresAt }) => expiresAt === null || expiresAt > now).length;
  } finally {
    await database.close();
  }
}

async function issuer({ oauthIssuer }: Config): Promise<Finding> {
  try {
    const { id } = await createIssuer(demandIssuer(oauthIssuer), () => {})();
    return { state: 'ok', what: `users: the issuer ${id} answers` };
  } catch (error) {
    return {
      state: 'note',
      what: `users: ${(error as Error).message}`,
      remedy: 'Until it works, requests with tokens get 503',
    };
  }
}

/**
 * API keys: makes, finds, rotates and lists them. Only hashes are stored, and a key is looked up at every call, so that
 * a removed one is invalid at once. Checks no scope.
 */
import { hash, randomBytes } from 'node:crypto';
import type { Clock } from '../../platform/clock.ts';
import type { Database, Queries } from '../../ports/database/database.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import type { SignedIn } from '../identity.ts';
import type { Log } from '../../platform/observability/log.ts';
import { programName } from '../../platform/program.ts';

export interface KeyTerms {
  readonly scopes: readonly string[];
  /** In milliseconds; null for a key that does not expire. */
  readonly expiresAt: number | null;
}

/** A key as its owner and operators may see it. */
export interface ListedKey extends KeyTerms {
  readonly user: string;
  readonly id: string;
  readonly createdAt: number;
  readonly lastUsedAt: number | null;
}

const apiKeyForm = /^wck_[A-Za-z0-9_-]{43}$/;

/** Whether a string can be a key at all, so that nothing else is looked up. */
export const isApiKey = (text: string): boolean => apiKeyForm.test(text);

export const hashKey = (key: string): string => hash('sha256', key, 'hex');

/**
 * The user of a key and when it was last used; null if it is unknown or expired. Every call asks again, so that a removed
 * key is invalid at once.
 */
export async function findKey(
  database: Queries,
  keyHash: string,
  now: number,
): Promise<{ who: SignedIn; lastUsedAt: number | null } | null> {
  const [row] = await database.query<KeyRow>('SELECT * FROM api_keys WHERE key_hash = ?', keyHash);
  if (!row || (row.expires_at !== null && row.expires_at <= now)) return null;
  const { user, scopes, id, createdAt, expiresAt, lastUsedAt } = toListedKey(row);
  return {
    who: { user, since: createdAt, scopes, signedInBy: 'key', credential: id, expiresAt },
    lastUsedAt,
  };
}

/** What else belongs to a change of keys, whole or not at all. `before` is null for a new user. */
type KeyTransactionPart = (
  tx: Queries,
  terms: { readonly before: KeyTerms | null; readonly after: KeyTerms },
) => Promise<void>;

/** Makes a user, and gives the key: the only time that it is known. */
export async function addUser(
  database: Database,
  name: string,
  terms: KeyTerms,
  now: number,
  also?: KeyTransactionPart,
): Promise<string> {
  return database.transaction(async (tx) => {
    const made = await tx.query(
      'INSERT INTO users (name, created_at) VALUES (?, ?) ON CONFLICT DO NOTHING RETURNING name',
      name,
      now,
    );
    if (made.length > 0) {
      await forgetRemoval(tx, name, now);
      await also?.(tx, { before: null, after: terms });
      return insertKey(tx, name, terms, now);
    }
    throw new WorkcrateError(
      'already_exists',
      `There is a user ${name} already. ${programName} user rotate ${name} makes a new key and ends the old one.`,
    );
  });
}

/** The new key dates from after the removal of the name, whatever the clock was then. */
async function forgetRemoval(tx: Queries, name: string, now: number): Promise<void> {
  await tx.query(
    'UPDATE removals SET removed_at = ? WHERE user_name = ? AND removed_at >= ?',
    now - 1,
    name,
    now,
  );
}

/** Gives a user a new key and ends all others. What is not said anew stays as it was, its length of life too. */
export async function rotateKey(
  database: Database,
  name: string,
  terms: Partial<KeyTerms>,
  now: number,
  also?: KeyTransactionPart,
): Promise<string> {
  return database.transaction(async (tx) => {
    const rows = await tx.query<{ name: string }>(
      'UPDATE users SET name = name WHERE name = ? RETURNING name',
      name,
    );
    if (rows.length === 0) throw unknownUserError(name);
    const old = await tx.query<KeyRow>('DELETE FROM api_keys WHERE user_name = ? RETURNING *', name);
    const last = old.map(toListedKey).sort((a, b) => b.createdAt - a.createdAt)[0];
    const { scopes = last?.scopes ?? [], expiresAt = last ? keepLifetime(last, now) : null } = terms;
    const after = { scopes, expiresAt };
    await also?.(tx, { before: last ?? null, after });
    return insertKey(tx, name, after, now);
  });
}

const keepLifetime = ({ createdAt, expiresAt }: ListedKey, now: number): number | null =>
  expiresAt === null ? null : now + expiresAt - createdAt;

/** Every key, by the names of users. */
export async function listKeys(database: Queries): Promise<ListedKey[]> {
  const rows = await database.query<KeyRow>('SELECT * FROM api_keys ORDER BY user_name, created_at, id');
  return rows.map(toListedKey);
}

export function unknownUserError(name: string): WorkcrateError {
  return new WorkcrateError(
    'not_found',
    `There is no user ${name}. ${programName} user list shows all users.`,
  );
}

async function insertKey(
  tx: Queries,
  user: string,
  { scopes, expiresAt }: KeyTerms,
  now: number,
): Promise<string> {
  const key = `wck_${randomBytes(32).toString('base64url')}`;
  await tx.query(
    `INSERT INTO api_keys (key_hash, id, user_name, scopes, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)`,
    hashKey(key),
    `key_${randomBytes(6).toString('hex')}`,
    user,
    scopes.join(' '),
    now,
    expiresAt,
  );
  return key;
}

// oxlint-disable-next-line typescript/consistent-type-definitions -- a row has to fit an index signature
type KeyRow = {
  key_hash: string;
  id: string;
  user_name: string;
  scopes: string;
  created_at: number;
  expires_at: number | null;
  last_used_at: number | null;
};

function toListedKey(row: KeyRow): ListedKey {
  return {
    user: row.user_name,
    id: row.id,
    scopes: row.scopes.split(' ').filter((scope) => scope !== ''),
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    lastUsedAt: row.last_used_at,
  };
}

const lastUseStepMs = 60_000;
const delayMs = 1000;
/** Beyond this, uses are not noted until the others have been written. */
const maxWaitingUses = 10_000;

/** Notes when keys were used, to the minute. It is written a moment later, so that no call waits for the disk. */
export function createLastUse({ database, clock, log }: { database: Database; clock: Clock; log: Log }) {
  const waiting = new Map<string, number>();
  let timer: NodeJS.Timeout | null = null;

  async function write(): Promise<void> {
    timer = null;
    const noted = [...waiting];
    waiting.clear();
    if (noted.length === 0) return;
    try {
      await database.transaction(async (tx) => {
        for (const [keyHash, at] of noted)
          await tx.query('UPDATE api_keys SET last_used_at = ? WHERE key_hash = ?', at, keyHash);
      });
    } catch (error) {
      // The next use of the same key is noted again.
      log.warn('users.last_use_not_noted', { error });
    }
  }

  return {
    note(keyHash: string, lastUsedAt: number | null): void {
      const now = clock();
      if (lastUsedAt !== null && now - lastUsedAt < lastUseStepMs) return;
      if (waiting.has(keyHash) || waiting.size >= maxWaitingUses) return;
      waiting.set(keyHash, now);
      timer ??= setTimeout(() => void write(), delayMs).unref();
    },
    async [Symbol.asyncDispose](): Promise<void> {
      if (timer !== null) clearTimeout(timer);
      await write();
    },
  };
}

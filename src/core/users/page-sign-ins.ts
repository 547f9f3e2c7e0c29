/**
 * Which browsers are signed in to the page, by the hash of a random token that is their cookie. A sign-in ends with its
 * key, its token of OAuth or its user, or when somebody signs out. It reads no cookie: `surfaces/http/page-cookie.ts` does.
 */
import { hash, randomBytes } from 'node:crypto';
import type { Clock } from '../../platform/clock.ts';
import type { Database, Queries } from '../../ports/database/database.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import type { SignedIn } from '../identity.ts';

export interface PageSignInTerms {
  /** Who it is, by what they have just shown. */
  readonly who: SignedIn;
  /** From before that was checked: a user who is removed meanwhile is removed after it. */
  readonly since: number;
  /** Of the key that was shown; null with a token. */
  readonly keyHash: string | null;
  /** Of the token that was shown; null with a key. */
  readonly issuer: string | null;
  /** What came back from the issuer, once; null with a key. */
  readonly state: string | null;
}

/** A browser that is signed in: by a key, which has to be looked up, or as somebody that a token named. */
export type PageSignIn = { readonly keyHash: string } | { readonly issuer: string; readonly who: SignedIn };

const maxLifeMs = 12 * 3_600_000;
/** Expired ones are kept for a while: until then their state is known to be used. */
const keepMs = 3_600_000;
const maxForOneUser = 100;
/** A clock that was set back would make a sign-in longer. So much may the clocks of several servers differ. */
const clockDifferenceMs = 60_000;

const hashToken = (token: string): string => hash('sha256', token, 'hex');

export function createPageSignIns({ database, clock }: { database: Database; clock: Clock }) {
  return {
    /** The token of the cookie, and for how long it is good. */
    async begin(terms: PageSignInTerms): Promise<{ token: string; lifeMs: number }> {
      const { who, since } = terms;
      const token = randomBytes(32).toString('base64url');
      const expiresAt = Math.min(since + maxLifeMs, who.expiresAt ?? Infinity);
      await database.transaction(async (tx) => {
        await deleteOld(tx, who.user, since);
        await insert(tx, hashToken(token), terms, expiresAt);
      });
      return { token, lifeMs: expiresAt - since };
    },

    /** Null where there is none of that token, or it has ended. */
    async find(token: string): Promise<PageSignIn | null> {
      const [row] = await database.query<SignInRow>(
        `SELECT page_sign_ins.*, removals.removed_at FROM page_sign_ins
         LEFT JOIN removals ON removals.user_name = page_sign_ins.user_name WHERE token_hash = ?`,
        hashToken(token),
      );
      return row === undefined || hasEnded(row, clock()) ? null : toPageSignIn(row);
    },

    /** Gives whose it was; null where there is none of that token, or it has ended before. */
    async end(token: string): Promise<string | null> {
      const [ended] = await database.query<{ user_name: string }>(
        'UPDATE page_sign_ins SET ended_at = ? WHERE token_hash = ? AND ended_at IS NULL RETURNING user_name',
        clock(),
        hashToken(token),
      );
      return ended?.user_name ?? null;
    },
  };
}

/** Ends those of a user who is being removed, and tells how many there were. */
export async function deletePageSignIns(tx: Queries, user: string): Promise<number> {
  const gone = await tx.query('DELETE FROM page_sign_ins WHERE user_name = ? RETURNING token_hash', user);
  return gone.length;
}

async function insert(
  tx: Queries,
  tokenHash: string,
  { who, since, keyHash, issuer, state }: PageSignInTerms,
  expiresAt: number,
): Promise<void> {
  const made = await tx.query(
    `INSERT INTO page_sign_ins
       (token_hash, user_name, key_hash, issuer, scopes, credential, state_hash, begun_at, expires_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING token_hash`,
    tokenHash,
    who.user,
    keyHash,
    issuer,
    keyHash === null ? who.scopes.join(' ') : '',
    who.credential,
    state === null ? null : hashToken(state),
    since,
    expiresAt,
  );
  if (made.length === 0)
    throw new WorkcrateError('forbidden', 'This answer of the issuer was used already. Sign in again.');
}

/** Keeps the table small, whatever somebody does with a key. */
async function deleteOld(tx: Queries, user: string, now: number): Promise<void> {
  await tx.query('DELETE FROM page_sign_ins WHERE expires_at < ?', now - keepMs);
  await tx.query(
    `DELETE FROM page_sign_ins WHERE user_name = ? AND token_hash NOT IN
       (SELECT token_hash FROM page_sign_ins WHERE user_name = ? ORDER BY begun_at DESC LIMIT ?)`,
    user,
    user,
    maxForOneUser - 1,
  );
}

// oxlint-disable-next-line typescript/consistent-type-definitions -- a row has to fit an index signature
type SignInRow = {
  user_name: string;
  key_hash: string | null;
  issuer: string | null;
  scopes: string;
  credential: string;
  begun_at: number;
  expires_at: number;
  ended_at: number | null;
  removed_at: number | null;
};

const hasEnded = (row: SignInRow, now: number): boolean =>
  row.ended_at !== null ||
  row.expires_at <= now ||
  row.begun_at > now + clockDifferenceMs ||
  (row.removed_at !== null && row.removed_at >= row.begun_at);

function toPageSignIn(row: SignInRow): PageSignIn {
  if (row.key_hash !== null) return { keyHash: row.key_hash };
  const who: SignedIn = {
    user: row.user_name,
    since: row.begun_at,
    scopes: row.scopes.split(' ').filter((scope) => scope !== ''),
    signedInBy: 'token',
    credential: row.credential,
    expiresAt: row.expires_at,
  };
  return { issuer: row.issuer!, who };
}

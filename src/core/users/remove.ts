/**
 * Removes a user: ends keys, links and uploads in one transaction, also against calls that are under way. Files stay
 * until they expire.
 */
import type { Database, Queries } from '../../ports/database/database.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import { isLocal, type Caller } from '../identity.ts';
import { unknownUserError } from './keys.ts';
import { deletePageSignIns } from './page-sign-ins.ts';

/** Links and rights to send that were ended. */
export interface EndedRights {
  readonly links: number;
  readonly uploads: number;
  /** Other things of the user that went too. */
  readonly others?: number;
}

/** What was ended. */
export interface UserRemoval extends EndedRights {
  readonly keys: number;
}

/**
 * Ends everything that a user can come in or be served by, in one step: keys, browsers, links and rights to send. Files
 * stay until they expire. It also takes a user of OAuth, who is known by links and uploads alone: `endRights`
 * ends those, in the same transaction. Calls under way can make no more of them (`checkNotRemoved`).
 */
export async function removeUser(
  database: Database,
  name: string,
  now: number,
  endRights: (tx: Queries, name: string, now: number) => Promise<EndedRights>,
): Promise<UserRemoval> {
  return database.transaction(async (tx) => {
    // First, so that it waits for links that are being made, and then finds them.
    await noteRemoval(tx, name, now);
    const known = await tx.query('DELETE FROM users WHERE name = ? RETURNING name', name);
    const keys = await tx.query('DELETE FROM api_keys WHERE user_name = ? RETURNING id', name);
    const signIns = await deletePageSignIns(tx, name);
    const { links, uploads, others = 0 } = await endRights(tx, name, now);
    if (known.length + keys.length + signIns + links + uploads + others === 0) throw unknownUserError(name);
    return { keys: keys.length, links, uploads };
  });
}

async function noteRemoval(tx: Queries, name: string, now: number): Promise<void> {
  await tx.query(
    `INSERT INTO removals (user_name, removed_at) VALUES (?, ?)
     ON CONFLICT (user_name) DO UPDATE SET removed_at = excluded.removed_at`,
    name,
    now,
  );
}

/** Whether a user was removed after a right to call was given. */
export async function wasRemoved(queries: Queries, { user, since }: Required<Caller>): Promise<boolean> {
  const rows = await queries.query(
    'SELECT user_name FROM removals WHERE user_name = ? AND removed_at >= ?',
    user,
    since,
  );
  return rows.length > 0;
}

/**
 * Rejects where the caller was removed after the call began, and else holds a removal off until the transaction ends.
 * To be called before anything is handed out: a link made after the removal would be found by nobody.
 */
export async function checkNotRemoved(tx: Queries, caller: Caller, begunAt: number): Promise<void> {
  if (isLocal(caller)) return;
  const [row] = await tx.query<{ removed_at: number | null }>(
    `INSERT INTO removals (user_name) VALUES (?)
     ON CONFLICT (user_name) DO UPDATE SET removed_at = removals.removed_at RETURNING removed_at`,
    caller.user,
  );
  const removedAt = row?.removed_at ?? null;
  if (removedAt === null || removedAt < (caller.since ?? begunAt)) return;
  throw new WorkcrateError(
    'unauthorized',
    'You were removed from this server during the call, so no link was made. Ask the operator for a new key.',
  );
}

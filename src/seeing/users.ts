import { isWorkcrateError } from '../errors.ts';
import type { Metrics } from '../metrics.ts';
import { IssuerDown, type Users } from '../users/users.ts';

/** The same users, whose attempts to sign in are counted. */
export function countedSignIns(users: Users, { auth }: Pick<Metrics, 'auth'>): Users {
  return {
    ...users,
    async signIn(shown) {
      try {
        const caller = await users.signIn(shown);
        auth.inc({ result: 'ok' });
        return caller;
      } catch (error) {
        auth.inc({ result: resultOf(error) });
        throw error;
      }
    },
  };
}

function resultOf(error: unknown): string {
  if (error instanceof IssuerDown) return 'issuer_down';
  return isWorkcrateError(error, 'unauthorized') ? 'refused' : 'failed';
}

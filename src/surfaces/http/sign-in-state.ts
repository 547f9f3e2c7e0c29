/**
 * What a browser carries to the issuer and back: a state that it alone has, signed, for ten minutes. The nonce and the
 * verifier (PKCE) are derived from the state by the secret of the server, so that no browser ever has them.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../platform/clock.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import type { PendingSignIn } from '../../core/users/users.ts';

export interface SignInStatesOptions {
  /** The same for all servers of a team. */
  readonly secret: Uint8Array;
  readonly clock: Clock;
}

export type SignInStates = ReturnType<typeof createSignInStates>;

export const stateLifeMs = 600_000;

export function createSignInStates({ secret, clock }: SignInStatesOptions) {
  const derive = (what: string, text: string): string =>
    createHmac('sha256', secret).update(`page sign-in ${what}\n${text}`).digest('base64url');
  const toPending = (state: string): PendingSignIn => ({
    state,
    nonce: derive('nonce', state),
    verifier: derive('verifier', state),
  });

  return {
    /** A new one, with the page to go on with, and the value of its cookie. */
    begin(next: string): { pending: PendingSignIn; cookie: string } {
      const state = randomBytes(32).toString('base64url');
      const text = [state, clock() + stateLifeMs, Buffer.from(next).toString('base64url')].join('.');
      return { pending: toPending(state), cookie: `${text}.${derive('cookie', text)}` };
    },

    /** Refuses an answer to a sign-in that this browser has not begun, or too long ago. */
    finish(cookie: string | null, given: readonly string[]): { pending: PendingSignIn; next: string } {
      const cut = (cookie ?? '').lastIndexOf('.');
      const text = (cookie ?? '').slice(0, Math.max(cut, 0));
      const [state = '', until, next = ''] = text.split('.');
      if (cookie === null || !isSame(cookie.slice(cut + 1), derive('cookie', text)))
        throw refuseState('This browser has not begun to sign in, or has done so already.');
      if (!(Number(until) > clock())) throw refuseState('Signing in took longer than ten minutes.');
      if (given.length !== 1 || !isSame(given[0]!, state))
        throw refuseState('This answer belongs to another sign-in, perhaps one in another tab.');
      return { pending: toPending(state), next: Buffer.from(next, 'base64url').toString() };
    },
  };
}

const refuseState = (why: string): WorkcrateError =>
  new WorkcrateError('forbidden', `${why} Nobody was signed in. Begin again on this page.`);

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

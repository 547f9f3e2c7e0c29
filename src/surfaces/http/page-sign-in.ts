/**
 * Signs browsers in to the page, with a key or by the issuer, and out again. It renders nothing (`surfaces/pages/` does) and checks
 * keys and tokens as `auth.ts` does those of any client.
 */
import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../platform/clock.ts';
import { isWorkcrateError, WorkcrateError } from '../../platform/errors.ts';
import type { Log } from '../../platform/observability/log.ts';
import { IssuerDown, type Users } from '../../core/users/users.ts';
import type { SignedIn } from '../../core/identity.ts';
import { isForMetricsAlone, metricsAloneError, type Auth, type RefusedCredential } from './auth.ts';
import type { ClientAddress } from './client-address.ts';
import type { PageCookies } from './page-cookie.ts';
import { stateLifeMs, type SignInStates } from './sign-in-state.ts';

export interface PageSignInOptions {
  /** Null where authentication is off. */
  readonly users: Pick<Users, 'beginPageSignIn' | 'endPageSignIn' | 'signInByPage' | 'codeFlow'> | null;
  readonly auth: Pick<Auth, 'checkCredential' | 'countMiss'>;
  readonly getAddress: ClientAddress;
  /** Called for every browser that was signed in, signed out or refused for another reason than its key or token. */
  readonly notes: {
    begun(who: SignedIn, address: string): Promise<void>;
    ended(user: string, address: string): Promise<void>;
    refused(refused: RefusedCredential): void;
  };
  readonly cookies: PageCookies;
  readonly states: SignInStates;
  readonly clock: Clock;
  readonly log: Log;
}

const getRequest = (env: unknown): IncomingMessage => (env as { incoming: IncomingMessage }).incoming;

export function createPageSignIn(options: PageSignInOptions) {
  const { users, auth, cookies, states, getAddress, notes, clock, log } = options;

  /** The header that signs the browser in. */
  async function begin(env: unknown, shown: string, state: string | null): Promise<string> {
    const since = clock();
    const who = await auth.checkCredential(getRequest(env), shown);
    if (isForMetricsAlone(who)) throw metricsAloneError();
    const { token, lifeMs } = await users!.beginPageSignIn(who, shown, since, state);
    log.info('auth.page_signed_in', { user: who.user, by: who.signedInBy });
    await notes.begun(who, getAddress(getRequest(env)));
    return cookies.signedIn.make(token, lifeMs);
  }

  async function demandCodeFlow() {
    const flow = users?.codeFlow ?? null;
    if (flow === null) throw new WorkcrateError('unsupported', 'Nobody signs in with an issuer here.');
    return flow;
  }

  /** A code that the issuer does not know counts as a guess. */
  function noteRefusal(request: IncomingMessage, error: unknown): void {
    if (isWorkcrateError(error, 'unauthorized')) auth.countMiss(request, error);
    else if (isWorkcrateError(error))
      notes.refused({ address: getAddress(request), reason: error.code, request, error });
  }

  return {
    /** Also where nobody has to sign in. */
    async isSignedIn(env: unknown): Promise<boolean> {
      const cookie = cookies.signedIn.read(getRequest(env));
      if (users === null) return true;
      if (cookie === null) return false;
      try {
        await users.signInByPage(cookie);
        return true;
      } catch (error) {
        if (isWorkcrateError(error, 'unauthorized')) return false;
        throw error;
      }
    },

    withKey: (env: unknown, key: string): Promise<string> => begin(env, key, null),

    /** Where a browser goes to sign in, and the header that lets it come back. `next` is a page of ours. */
    async goToIssuer(next: string): Promise<{ url: string; cookie: string }> {
      const { pending, cookie } = states.begin(next);
      const url = await (await demandCodeFlow()).getAuthorizationUrl(pending).catch(throwUnavailable(log));
      return { url, cookie: cookies.state.make(cookie, stateLifeMs) };
    },

    /** Signs a browser in that the issuer has sent back. */
    async comeBack(env: unknown, query: URLSearchParams): Promise<{ cookie: string; next: string }> {
      const flow = await demandCodeFlow();
      const request = getRequest(env);
      try {
        const { pending, next } = states.finish(cookies.state.read(request), query.getAll('state'));
        const token = await flow.redeem(pending, query);
        return { cookie: await begin(env, token, pending.state), next };
      } catch (error) {
        noteRefusal(request, error);
        return throwUnavailable(log)(error);
      }
    },

    /** The header that ends what `goToIssuer` began: an answer is taken once. */
    forgetState: cookies.state.end,

    /** Ends the sign-in, for whoever has its cookie, and gives the header that removes the cookie. */
    async signOut(env: unknown): Promise<string> {
      const request = getRequest(env);
      const cookie = cookies.signedIn.read(request);
      const user = cookie === null || users === null ? null : await users.endPageSignIn(cookie);
      if (user !== null) await notes.ended(user, getAddress(request));
      return cookies.signedIn.end();
    },
  };
}

/** Why the issuer is of no use is for the log: people cannot help it. */
const throwUnavailable =
  (log: Log) =>
  (error: unknown): never => {
    if (!(error instanceof IssuerDown)) throw error;
    log.error('auth.issuer_down', { error });
    throw new WorkcrateError(
      'issuer_unavailable',
      'The issuer cannot be reached, or did not accept this server. Try again in a moment; the log of the server says why.',
    );
  };

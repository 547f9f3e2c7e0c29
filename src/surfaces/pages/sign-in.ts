/**
 * The pages on which a person signs in, with a key or at the issuer, and goes on to the page that was asked for. Keys,
 * tokens and cookies are checked and made in `surfaces/http/`.
 */
import type { Context, Hono } from 'hono';
import { asWorkcrateError, isOurFault, publicMessage, type WorkcrateError } from '../../platform/errors.ts';
import { html, nothing, renderMessage, renderPage, type Html } from '../../platform/html/html.ts';
import { createPolicy, toPageResponse } from '../../platform/html/response.ts';
import { getErrorStatus } from '../../platform/http/answer.ts';
import type { Log } from '../../platform/observability/log.ts';
import { programName } from '../../platform/program.ts';
import { demandOwnForm, readForm, type Routing } from './routing.ts';

export interface SignInOptions {
  /** By what people can sign in here. */
  readonly ways: {
    readonly key: boolean;
    /** The address of the issuer; null where people cannot sign in there. */
    readonly issuer: string | null;
  };
  readonly signIn: {
    isSignedIn(env: unknown): Promise<boolean>;
    /** The cookie for a key. */
    withKey(env: unknown, key: string): Promise<string>;
    goToIssuer(next: string): Promise<{ readonly url: string; readonly cookie: string }>;
    comeBack(
      env: unknown,
      query: URLSearchParams,
    ): Promise<{ readonly cookie: string; readonly next: string }>;
    /** The cookie that ends what `goToIssuer` began. */
    forgetState(): string;
    signOut(env: unknown): Promise<string>;
  };
  readonly log: Log;
}

interface SignInPage {
  readonly token: string;
  /** The page to go on with. */
  readonly next: string;
  readonly error: WorkcrateError | null;
}

const toQuery = (next: string): string => (next === '/' ? '' : `?next=${encodeURIComponent(next)}`);

const renderKeyForm = ({ token, next }: SignInPage): Html =>
  html`<form method="post" action="/sign-in" class="filter">
      <input type="hidden" name="token" value="${token}" />
      <input type="hidden" name="next" value="${next}" />
      <label>Your key <input type="password" name="key" autocomplete="current-password" required /></label>
      <button>Sign in</button>
    </form>
    <p class="muted">An operator makes keys with <code>${programName} user add NAME</code>.</p>`;

// A link and no form: the policy of these pages has forms end at this server, also by a redirect.
const renderIssuerLink = (issuer: string, { next }: SignInPage): Html =>
  html`<p class="actions">
    <a class="button" href="/sign-in/issuer${toQuery(next)}">Sign in at ${new URL(issuer).host}</a>
  </p>`;

const noWay = html`<p>
  This server takes tokens of OAuth and is no client of their issuer, so nobody can sign in here. An operator
  can set
  <code>--oauth-client-id</code>.
</p>`;

async function answerSignIn({ ways: { key, issuer } }: SignInOptions, shown: SignInPage): Promise<Response> {
  const { error } = shown;
  const body = html`<section class="card narrow">
    <h1>Sign in</h1>
    ${error === null ? nothing : html`<p class="note failed" role="alert">${publicMessage(error)}</p>`}
    ${issuer === null ? nothing : renderIssuerLink(issuer, shown)}
    ${key && issuer !== null ? html`<h2>Or with a key</h2>` : nothing} ${key ? renderKeyForm(shown) : nothing}
    ${!key && issuer === null ? noWay : nothing}
  </section>`;
  const page = await renderPage({ title: 'Sign in · Workcrate', body });
  return toPageResponse(page, error === null ? 200 : getErrorStatus(error), createPolicy({ submits: key }));
}

/**
 * Leads on by itself, from a page of ours: the cookie is strict, so that a browser would not send it where the issuer
 * leads on. The address has a code in it, which was used and is passed on to nobody.
 */
async function answerGoOn(next: string): Promise<Response> {
  const page = await renderMessage('You are signed in', 'The page that you asked for opens by itself.');
  const answer = toPageResponse(page, 200, createPolicy());
  answer.headers.set('Refresh', `0; url=${next}`);
  answer.headers.set('Referrer-Policy', 'no-referrer');
  return answer;
}

const own = 'http://own.invalid';
const maxNextCharacters = 500;

/** A page of this server that somebody asked for, and the first page in place of anything else. */
function toNextPage(asked: unknown, isPage: (path: string) => boolean): string {
  if (typeof asked !== 'string' || asked.length > maxNextCharacters) return '/';
  if (!/^\/(?![/\\])[\x21-\x7e]*$/.test(asked)) return '/';
  const url = URL.parse(asked, own);
  if (url === null || url.origin !== own || !isPage(url.pathname) || url.pathname.startsWith('/sign-'))
    return '/';
  return url.pathname + url.search;
}

export function addSignInRoutes(
  routes: Hono,
  { tokens, change }: Routing,
  options: SignInOptions,
  isPage: (path: string) => boolean,
): void {
  const { signIn, ways, log } = options;
  const readNext = ({ req }: Context): string => toNextPage(req.query('next'), isPage);
  const show = (next: string, error: WorkcrateError | null = null): Promise<Response> =>
    answerSignIn(options, { token: tokens.make(''), next, error });
  const fail = (next: string, cause: unknown): Promise<Response> => {
    const error = asWorkcrateError(cause);
    if (isOurFault(error)) log.error('http.refused', { route: '/sign-in', code: error.code, error });
    return show(next, error);
  };

  routes.get('/sign-in', async (context) => {
    const next = readNext(context);
    return (await signIn.isSignedIn(context.env)) ? context.redirect(next, 303) : show(next);
  });

  if (ways.key)
    routes.post('/sign-in', async (context) => {
      let next = '/';
      try {
        const form = await readForm(context);
        next = toNextPage(form.get('next'), isPage);
        demandOwnForm(tokens, '', form);
        const key = form.get('key');
        const cookie = await signIn.withKey(context.env, typeof key === 'string' ? key.trim() : '');
        context.header('Set-Cookie', cookie);
        return context.redirect(next, 303);
      } catch (cause) {
        return fail(next, cause);
      }
    });

  if (ways.issuer !== null) {
    routes.get('/sign-in/issuer', async (context) => {
      const next = readNext(context);
      try {
        const { url, cookie } = await signIn.goToIssuer(next);
        context.header('Set-Cookie', cookie);
        return context.redirect(url, 303);
      } catch (cause) {
        return fail(next, cause);
      }
    });

    routes.get('/sign-in/callback', async (context) => {
      const query = new URL(context.req.url).searchParams;
      const comeBack = async (): Promise<Response> => {
        const { cookie, next } = await signIn.comeBack(context.env, query);
        const answer = await answerGoOn(next);
        answer.headers.append('Set-Cookie', cookie);
        return answer;
      };
      const answer = await comeBack().catch((cause: unknown) => fail('/', cause));
      answer.headers.append('Set-Cookie', signIn.forgetState());
      return answer;
    });
  }

  routes.post('/sign-out', async (context) => {
    const answer = await change('/', async () => '/sign-in')(context);
    if (answer.status === 303) answer.headers.set('Set-Cookie', await signIn.signOut(context.env));
    return answer;
  });
}

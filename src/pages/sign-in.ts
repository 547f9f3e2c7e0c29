/** The page on which a person types a key. The key is checked as that of any client, and wrong ones count as guesses. */
import type { Hono } from 'hono';
import { asWorkcrateError, publicMessage, WorkcrateError } from '../errors.ts';
import { html, nothing, renderPage } from '../html/html.ts';
import { createPolicy, toPageResponse } from '../html/response.ts';
import { getErrorStatus } from '../http/answer.ts';
import { programName } from '../program.ts';
import { demandOwnForm, readForm, type Routing } from './routing.ts';

export interface SignInOptions {
  /** Gives the cookie for a key; null where there are no keys. */
  readonly signIn: ((env: unknown, key: string) => Promise<string>) | null;
  /** The cookie that ends one. */
  readonly signOut: () => string;
}

async function answerSignIn(
  { signIn }: SignInOptions,
  token: string,
  error: WorkcrateError | null,
): Promise<Response> {
  const body = html`<section class="card">
    <h1>Sign in</h1>
    ${error === null ? nothing : html`<p class="note failed" role="alert">${publicMessage(error)}</p>`}
    ${
      signIn === null
        ? html`<p>This server takes no keys, so these pages cannot be opened with one.</p>`
        : html`<form method="post" action="/sign-in" class="filter">
              <input type="hidden" name="token" value="${token}" />
              <label
                >Your key <input type="password" name="key" autocomplete="current-password" required
              /></label>
              <button>Sign in</button>
            </form>
            <p class="muted">An operator makes keys with <code>${programName} user add NAME</code>.</p>`
    }
  </section>`;
  const page = await renderPage({ title: 'Sign in · Workcrate', body });
  const policy = createPolicy({ submits: true });
  return toPageResponse(page, error === null ? 200 : getErrorStatus(error), policy);
}

export function addSignInRoutes(routes: Hono, { tokens, change }: Routing, options: SignInOptions): void {
  routes.get('/sign-in', () => answerSignIn(options, tokens.make(''), null));
  routes.post('/sign-in', async (context) => {
    try {
      const form = await readForm(context);
      demandOwnForm(tokens, '', form);
      if (options.signIn === null)
        throw new WorkcrateError('unsupported', 'Nobody signs in with a key here.');
      const key = form.get('key');
      context.header(
        'Set-Cookie',
        await options.signIn(context.env, typeof key === 'string' ? key.trim() : ''),
      );
      return context.redirect('/', 303);
    } catch (cause) {
      return answerSignIn(options, tokens.make(''), asWorkcrateError(cause));
    }
  });
  routes.post('/sign-out', async (context) => {
    const answer = await change('/', async () => '/sign-in')(context);
    if (answer.status === 303) answer.headers.set('Set-Cookie', options.signOut());
    return answer;
  });
}

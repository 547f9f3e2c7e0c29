/** What tests of signing in at an issuer share: a server whose page is a client of a real issuer, and a person there. */
import type { Page } from 'playwright-core';
import type { ServerConfig as Config } from '../../../src/server/settings.ts';
import { startIssuer, type PageClient, type TestIssuer } from '../users/issuer.testing.ts';
import { startTeam, type Team } from '../users/team.testing.ts';

export interface IssuerTeam extends AsyncDisposable {
  readonly issuer: TestIssuer;
  readonly team: Team;
}

export async function startIssuerTeam(
  overrides: Partial<Config> = {},
  client: Omit<PageClient, 'redirectUri'> = {},
): Promise<IssuerTeam> {
  await using started = new AsyncDisposableStack();
  const issuer = started.use(await startIssuer([], '127.0.0.2'));
  const oauthClientSecret = client.isPublic === true ? null : issuer.secret;
  const team = started.use(
    await startTeam({
      auth: ['keys', 'oauth'],
      oauthIssuer: issuer.url,
      oauthClientId: 'page',
      oauthClientSecret,
      ...overrides,
    }),
  );
  await issuer.admitPage({ redirectUri: `${team.url}/sign-in/callback`, ...client });
  const all = started.move();
  return { issuer, team, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

/** Signs in at the issuer as anybody, and agrees. */
export async function signInAtIssuer(page: Page, name: string): Promise<void> {
  await page.fill('input[name=login]', name);
  await page.fill('input[name=password]', 'any');
  await page.click('button[type=submit]');
  await page.click('button[type=submit]');
}

/** An answer of the issuer that was not delivered, and the cookie by which the server would have known it. */
export interface Caught {
  readonly url: URL;
  readonly cookie: string;
}

/** Goes to the issuer without a browser, signs in there as anybody, agrees, and keeps the answer. */
export async function catchAnswer({ url }: Team, name: string, next = ''): Promise<Caught> {
  const begun = await fetch(`${url}/sign-in/issuer${next}`, { redirect: 'manual' });
  const cookie = begun.headers.getSetCookie()[0]!.split(';')[0]!;
  const cookies = new Map<string, string>();
  let at = new URL(begun.headers.get('location')!);
  const fields = { login: name, password: 'any' };
  // Each leads on to the next; the last leads back.
  for (const prompt of ['', 'login', '', 'consent', '']) {
    const answer = await fetch(at, {
      redirect: 'manual',
      headers: { cookie: [...cookies].map((pair) => pair.join('=')).join('; ') },
      ...(prompt === '' ? {} : { method: 'POST', body: new URLSearchParams({ prompt, ...fields }) }),
    });
    for (const set of answer.headers.getSetCookie()) {
      const [, key, value] = /^([^=]+)=([^;]*)/.exec(set)!;
      cookies.set(key!, value!);
    }
    at = new URL(answer.headers.get('location')!, at);
  }
  return { url: at, cookie };
}

/** Delivers an answer, with the cookie of whoever began. */
export const deliver = (url: URL, cookie: string | null): Promise<Response> =>
  fetch(url, { redirect: 'manual', headers: cookie === null ? {} : { cookie } });

/** The pair that a browser would send back, of the cookie that signs in; null where there is none. */
export function readSignedIn(answer: Response): string | null {
  const set = answer.headers.getSetCookie().find((one) => /^workcrate_page=[^;]/.test(one));
  return set?.split(';')[0] ?? null;
}

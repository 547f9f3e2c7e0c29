import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { run } from '../cli/program.testing.ts';
import { timeOf } from '../../server.testing.ts';
import { startIssuer } from '../users/issuer.testing.ts';
import { startTeam } from '../users/team.testing.ts';
import { findBarriers, noBrowser, openBrowser, type OpenBrowser } from './browser.testing.ts';
import {
  catchAnswer,
  deliver,
  readSignedIn,
  signInAtIssuer,
  startIssuerTeam,
  type IssuerTeam,
} from './issuer-sign-in.testing.ts';

describe('signing in to the pages at an issuer', { skip: noBrowser }, () => {
  let all: IssuerTeam;
  let browser: OpenBrowser;
  before(async () => {
    [all, browser] = await Promise.all([startIssuerTeam(), openBrowser()]);
  });
  after(async () => {
    await browser?.[Symbol.asyncDispose]();
    await all?.[Symbol.asyncDispose]();
  });

  const getLibrary = (cookie: string): Promise<Response> =>
    fetch(`${all.team.url}/library`, { redirect: 'manual', headers: { cookie } });

  /** The words of a refusal; nobody is signed in by it, and the state is used up. */
  async function readRefusal(answer: Response, status: number): Promise<string> {
    assert.equal(answer.status, status);
    assert.equal(readSignedIn(answer), null);
    assert.match(answer.headers.getSetCookie().join(), /workcrate_sign_in=; Max-Age=0/);
    const [, words] = /role="alert">([^<]*)</.exec(await answer.text()) ?? [];
    return words!;
  }

  it('leads to the page that was asked for, and no token or code reaches a script, a log or the next address', async () => {
    const { team } = all;
    const { page, complaints } = await browser.open();
    const requests: string[] = [];
    page.on('request', (request) => requests.push(`${request.url()} ${request.headers()['referer'] ?? ''}`));
    await page.goto(`${team.url}/library?kind=files`);
    assert.equal(new URL(page.url()).pathname, '/sign-in');
    assert.deepEqual(await findBarriers(page), []);
    assert.deepEqual(complaints, []);
    await page.click('text=Sign in at 127.0.0.2');
    await signInAtIssuer(page, 'ada');
    await page.waitForURL(`${team.url}/library?kind=files`);
    await page.getByText('Sign out ada').waitFor();
    const [cookie, ...others] = await page.context().cookies(team.url);
    assert.deepEqual(others, [], 'the cookie for the way there is gone');
    assert.deepEqual([cookie?.httpOnly, cookie?.sameSite], [true, 'Strict']);
    assert.equal(await page.evaluate('document.cookie'), '');
    // The token is good for an hour, so the cookie is too.
    assert.ok(cookie!.expires <= Date.now() / 1000 + 3611);
    const callback = requests.find((line) => line.includes('/sign-in/callback?'))!;
    const code = new URL(callback.split(' ')[0]!).searchParams.get('code')!;
    assert.ok(!team.logged.some((line) => line.includes(code) || line.includes('eyJ')));
    const later = requests.slice(requests.indexOf(callback) + 1).join('\n');
    assert.ok(!later.includes(code) && !later.includes('eyJ'), later);
    // The pages of the issuer want fonts from elsewhere. Ours want nothing.
    complaints.length = 0;
    await page.reload();
    assert.deepEqual(complaints, []);
  });

  it('has the scopes of the token, shows the own alone, and ends by signing out, in every tab', async () => {
    const { team } = all;
    const { page } = await browser.open();
    await page.goto(`${team.url}/sign-in/issuer`);
    await signInAtIssuer(page, 'grace');
    await page.getByText('Sign out grace').waitFor();
    const [cookie] = await page.context().cookies(team.url);
    const copied = `${cookie!.name}=${cookie!.value}`;
    assert.equal((await getLibrary(copied)).status, 200);
    const other = await page.context().newPage();
    await other.goto(`${team.url}/library`);
    await page.click('text=Sign out grace');
    await page.waitForURL(/sign-in$/);
    await other.click('text=Sign out grace');
    await other.waitForURL(/sign-in$/);
    assert.equal((await getLibrary(copied)).status, 401, 'a copy of the cookie has ended, too');
  });

  it('takes an answer once, and only from the browser that began', async () => {
    const { url, cookie } = await catchAnswer(all.team, 'ada');
    assert.match(await readRefusal(await deliver(url, null), 403), /has not begun to sign in/);
    const good = await deliver(url, cookie);
    assert.equal(good.status, 200);
    assert.match(good.headers.get('refresh')!, /^0; url=\/$/);
    assert.equal((await getLibrary(readSignedIn(good)!)).status, 200);
    assert.match(await readRefusal(await deliver(url, cookie), 401), /expired, or was used already/);
    const begun = await catchAnswer(all.team, 'eve');
    assert.match(await readRefusal(await deliver(url, begun.cookie), 403), /another sign-in/);
  });

  it('refuses a state, an issuer and a cookie that were changed, and an answer that says anything twice', async () => {
    const { url, cookie } = await catchAnswer(all.team, 'ada');
    const change = (act: (query: URLSearchParams) => void): URL => {
      const changed = new URL(url);
      act(changed.searchParams);
      return changed;
    };
    const [name, value] = cookie.split('=') as [string, string];
    const [state, until, , signature] = value.split('.');
    const elsewhere = Buffer.from('//evil.example').toString('base64url');
    const cases: [string, URL, string, RegExp][] = [
      ['another state', change((query) => query.set('state', 'x'.repeat(43))), cookie, /another sign-in/],
      ['no state', change((query) => query.delete('state')), cookie, /another sign-in/],
      ['two states', change((query) => query.append('state', state!)), cookie, /another sign-in/],
      ['another issuer', change((query) => query.set('iss', 'https://evil.example')), cookie, /not from the/],
      ['no issuer', change((query) => query.delete('iss')), cookie, /not from the issuer/],
      ['a cookie that is cut', url, cookie.slice(0, -5), /has not begun/],
      [
        'a cookie that leads elsewhere',
        url,
        `${name}=${state}.${until}.${elsewhere}.${signature}`,
        /not begun/,
      ],
      ['a longer life', url, `${name}=${state}.9${until}.${value.split('.')[2]}.${signature}`, /not begun/],
    ];
    for (const [what, changed, given, words] of cases)
      assert.match(await readRefusal(await deliver(changed, given), 403), words, what);
    const wrongCode = change((query) => query.set('code', 'made-up'));
    assert.match(await readRefusal(await deliver(wrongCode, cookie), 401), /expired, or was used/);
    assert.equal((await deliver(url, cookie)).status, 200, 'and what was not changed still works');
  });

  it('says in words that somebody refused, and what the issuer calls its error, without its HTML', async () => {
    const { url, cookie } = await catchAnswer(all.team, 'ada');
    for (const [error, words] of [
      ['access_denied', /did not allow it/],
      ['server_error', /refused: server_error\./],
      ['<script>alert(1)</script>', /refused: scriptalert1script\./],
    ] as const) {
      const refused = new URL(url);
      refused.searchParams.delete('code');
      refused.searchParams.set('error', error);
      assert.match(await readRefusal(await deliver(refused, cookie), 403), words);
    }
  });

  it('does not take the code of another sign-in for its own', async () => {
    // Somebody puts the code of Eve into the answer for Ada: PKCE tells them apart.
    const [own, foreign] = [await catchAnswer(all.team, 'ada'), await catchAnswer(all.team, 'eve')];
    own.url.searchParams.set('code', foreign.url.searchParams.get('code')!);
    assert.match(await readRefusal(await deliver(own.url, own.cookie), 401), /expired, or was used/);
  });

  for (const next of [
    '//evil.example',
    '/\\evil.example',
    'https://evil.example/',
    '/mcp',
    '/sign-out',
    '/%0a',
  ]) {
    it(`goes to the first page in place of ${next}`, async () => {
      const { url, cookie } = await catchAnswer(all.team, 'ada', `?next=${encodeURIComponent(next)}`);
      const answer = await deliver(url, cookie);
      assert.equal(answer.headers.get('refresh'), '0; url=/');
    });
  }

  it('asks for PKCE, a state, a nonce and this server, and keeps the secret of the client to itself', async () => {
    const answer = await fetch(`${all.team.url}/sign-in/issuer`, { redirect: 'manual' });
    assert.equal(answer.status, 303);
    const { origin, searchParams: query } = new URL(answer.headers.get('location')!);
    assert.equal(origin, all.issuer.url);
    assert.deepEqual(
      [query.get('response_type'), query.get('code_challenge_method'), query.get('resource')],
      ['code', 'S256', `${all.team.url}/mcp`],
    );
    for (const name of ['code_challenge', 'state', 'nonce']) assert.equal(query.get(name)!.length, 43, name);
    const said = answer.headers.getSetCookie().join() + query.toString();
    assert.match(said, /HttpOnly; SameSite=Lax/);
    assert.ok(!said.includes(encodeURIComponent(all.issuer.secret)));
  });

  it('ends with the user', async () => {
    const { url, cookie } = await catchAnswer(all.team, 'mallory');
    const signedIn = readSignedIn(await deliver(url, cookie))!;
    assert.equal((await getLibrary(signedIn)).status, 200);
    await run(['user', 'remove', 'mallory', '--data', all.team.config.data]);
    assert.equal((await getLibrary(signedIn)).status, 401);
    const { page } = await browser.open();
    const [name, value] = signedIn.split('=') as [string, string];
    await page.context().addCookies([{ name, value, url: all.team.url }]);
    await page.goto(`${all.team.url}/library`);
    assert.equal(page.url(), `${all.team.url}/sign-in?next=%2Flibrary`);
    recordProof('G1:sign-in-at-an-issuer');
  });
});

describe('the time to sign in at an issuer', () => {
  it('a code and a state expire, and a sign-in ends with the token, whatever the clock of the browser', async (t) => {
    const wait = timeOf(t);
    await using all = await startIssuerTeam({}, { tokenSeconds: 1800 });
    const begin = () => catchAnswer(all.team, 'ada');
    const early = await begin();
    wait(70);
    assert.match(await (await deliver(early.url, early.cookie)).text(), /expired, or was used already/);
    const slow = await begin();
    wait(610);
    assert.match(await (await deliver(slow.url, slow.cookie)).text(), /longer than ten minutes/);
    const good = await begin();
    const cookie = readSignedIn(await deliver(good.url, good.cookie))!;
    const open = async (): Promise<number> =>
      (await fetch(`${all.team.url}/library`, { headers: { cookie } })).status;
    assert.equal(await open(), 200);
    wait(1750);
    assert.equal(await open(), 200);
    wait(70);
    assert.equal(await open(), 401, 'the token has expired');
    t.mock.timers.setTime(Date.now() - 3 * 3_600_000);
    assert.equal(await open(), 401, 'a clock that is set back makes no sign-in longer');
  });

  it('a client without a secret signs in, too', { skip: noBrowser }, async () => {
    await using all = await startIssuerTeam({ auth: ['oauth'] }, { isPublic: true });
    await using browser = await openBrowser();
    const { page } = await browser.open();
    await page.goto(all.team.url);
    assert.equal(await page.locator('input[name=key]').count(), 0, 'there are no keys here');
    await page.click('text=Sign in at');
    await signInAtIssuer(page, 'ada');
    await page.getByText('Sign out ada').waitFor();
  });
});

describe('an issuer that cannot help', () => {
  const readWords = async (answer: Response): Promise<string> =>
    /role="alert">([^<]*)</.exec(await answer.text())?.[1] ?? '';

  it('that is down is told in words, and asked again later', async () => {
    await using all = await startIssuerTeam();
    await all.issuer.down();
    const answer = await fetch(`${all.team.url}/sign-in/issuer`, { redirect: 'manual' });
    assert.equal(answer.status, 503);
    assert.match(await readWords(answer), /cannot be reached/);
    await all.issuer.up();
  });

  it('without a client id nobody is sent there, and the page says what is missing', async () => {
    await using issuer = await startIssuer([]);
    await using team = await startTeam({ auth: ['oauth'], oauthIssuer: issuer.url });
    assert.match(await (await fetch(`${team.url}/sign-in`)).text(), /--oauth-client-id/);
    for (const path of ['/sign-in/issuer', '/sign-in/callback?code=x&state=y'])
      assert.equal((await fetch(team.url + path)).status, 404);
  });
});

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { openDatabase } from '../../../src/ports/database/open.ts';
import { getDatabaseLocation } from '../../../src/core/store-options.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { rotateKey } from '../../../src/core/users/keys.ts';
import { run } from '../cli/program.testing.ts';
import { timeOf } from '../../server.testing.ts';
import { send, startTeam, type Team } from '../users/team.testing.ts';
import { findBarriers, noBrowser, openBrowser, type OpenBrowser } from './browser.testing.ts';
import { signInByKey } from './forms.testing.ts';

describe('signing in to the pages', { skip: noBrowser }, () => {
  let team: Team;
  let browser: OpenBrowser;
  before(async () => {
    [team, browser] = await Promise.all([startTeam(), openBrowser()]);
  });
  after(async () => {
    await browser?.[Symbol.asyncDispose]();
    await team?.[Symbol.asyncDispose]();
  });

  async function signIn(page: Page, key: string): Promise<void> {
    await page.goto(team.url);
    await page.fill('input[name=key]', key);
    await page.keyboard.press('Enter');
    await page.locator('nav').waitFor();
  }

  it('asks for a key, refuses a wrong one, and shows what is the own alone', async () => {
    const [ada, eve] = [await team.join('ada'), await team.join('eve')];
    await send(ada, 'of-ada.txt', 'hers');
    await send(eve, 'of-eve.txt', 'theirs');
    const { page, complaints } = await browser.open();
    await page.goto(`${team.url}/library`);
    assert.equal(new URL(page.url()).pathname, '/sign-in');
    assert.deepEqual(await findBarriers(page), []);
    await page.fill('input[name=key]', 'wck_wrong');
    await page.click('button');
    assert.match(await page.innerText('[role=alert]'), /key is unknown/);
    await signIn(page, ada.bearer);
    await page.goto(`${team.url}/library`);
    const shown = await page.innerText('main');
    assert.match(shown, /of-ada\.txt/);
    assert.doesNotMatch(shown, /of-eve/);
    assert.deepEqual(
      complaints.filter((text) => !/401/.test(text)),
      [],
    );
  });

  it('gives a cookie that scripts cannot read, other sites cannot send, and that opens pages alone', async () => {
    const { page } = await browser.open();
    const key = await team.key('grace');
    await signIn(page, key);
    const [cookie] = await page.context().cookies();
    assert.deepEqual(
      [cookie?.httpOnly, cookie?.sameSite, cookie?.value.includes(key)],
      [true, 'Strict', false],
    );
    const headers = { cookie: `${cookie!.name}=${cookie!.value}` };
    assert.equal((await fetch(`${team.url}/library`, { headers })).status, 200);
    for (const path of ['/mcp', '/executions', '/status', '/metrics', '/grace/artifacts'])
      assert.equal((await fetch(team.url + path, { headers })).status, 401, path);
    recordProof('G1:sign-in-with-a-key');
  });

  it('takes no cookie that was forged, cut, doubled or made longer', async () => {
    const cookie = await signInByKey(team.url, await team.key('lise'));
    const [name, value] = cookie.split('=') as [string, string];
    const open = async (given: string): Promise<number> =>
      (await fetch(`${team.url}/library`, { headers: { cookie: given } })).status;
    assert.equal(await open(`other=1; ${cookie}`), 200);
    for (const bad of [
      `${name}=${'A'.repeat(43)}`,
      `${name}=${value.slice(0, -1)}`,
      `${name}=${value}A`,
      `${name}=${value.toLowerCase()}`,
      `${name}="${value}"`,
      `${name}=`,
      `${cookie}; ${name}=${'A'.repeat(43)}`,
      `${name}=' OR 1=1 --`,
      `__Host-${cookie}`,
      'x'.repeat(8000),
    ])
      assert.equal(await open(bad), 401, bad);
  });

  it('leads to the page that was asked for, and never to another server', async () => {
    const key = await team.key('emmy');
    const { page } = await browser.open();
    await page.goto(`${team.url}/library?q=a%26b`);
    await page.fill('input[name=key]', key);
    await page.keyboard.press('Enter');
    await page.waitForURL(`${team.url}/library?q=a%26b`);
    await page.goto(`${team.url}/sign-in?next=/crates`);
    assert.equal(page.url(), `${team.url}/crates`, 'whoever is signed in goes on at once');
    for (const next of [
      '//evil.example/',
      '/\\evil.example/',
      'https://evil.example/',
      '/mcp',
      '/sign-out',
    ]) {
      await page.goto(`${team.url}/sign-in?next=${encodeURIComponent(next)}`);
      assert.equal(page.url(), `${team.url}/`, next);
    }
  });

  it('lets a link on another site in, which the strict cookie alone would not, and no form from there', async () => {
    const [key, { page }] = [await team.key('rosa'), await browser.open()];
    await signIn(page, key);
    await page.goto(`data:text/html,<a href="${team.url}/crates">crates</a>`);
    await page.click('a');
    await page.waitForURL(`${team.url}/crates`);
    const token = await page.inputValue('input[name=token]');
    for (const path of ['/sign-out', '/sign-in']) {
      await page.goto(
        `data:text/html,<form method="post" action="${team.url}${path}"><input name="token" value="${token}">` +
          `<input name="key" value="${key}"><button>x</button></form>`,
      );
      const [answer] = await Promise.all([page.waitForNavigation(), page.click('button')]);
      assert.equal(answer?.status(), 403, path);
    }
    await page.goto(team.url);
    await page.getByText('Sign out rosa').waitFor();
  });

  it('is over in the other tab, too, and says so when that one acts', async () => {
    const { page } = await browser.open();
    await signIn(page, await team.key('hedy'));
    const other = await page.context().newPage();
    await other.goto(`${team.url}/library`);
    await page.click('text=Sign out hedy');
    await page.waitForURL(/sign-in$/);
    await other.click('text=Sign out hedy');
    await other.waitForURL(/sign-in$/);
    await other.locator('input[name=key]').waitFor();
  });

  it('ends with a user who is removed', async () => {
    const cookie = await signInByKey(team.url, await team.key('mallory'));
    const open = async (): Promise<number> =>
      (await fetch(`${team.url}/library`, { headers: { cookie } })).status;
    assert.equal(await open(), 200);
    await run(['user', 'remove', 'mallory', '--data', team.config.data]);
    assert.equal(await open(), 401);
    // Somebody who gets the name later is somebody else.
    await team.key('mallory');
    assert.equal(await open(), 401);
  });

  it('ends with the key, and when a person signs out', async () => {
    const { page } = await browser.open();
    await signIn(page, await team.key('mary'));
    await page.click('text=Sign out mary');
    await page.waitForURL(/sign-in/);
    await page.goto(team.url);
    assert.equal(new URL(page.url()).pathname, '/sign-in');
    await signIn(page, await team.key('joan'));
    const database = await openDatabase(getDatabaseLocation(team.config));
    await rotateKey(database, 'joan', {}, Date.now());
    await database.close();
    await page.goto(team.url);
    assert.equal(new URL(page.url()).pathname, '/sign-in');
  });

  it('shows in words what a key is not good for', async () => {
    const { page } = await browser.open();
    await signIn(page, await team.key('files-only', ['files']));
    assert.match(await page.innerText('main'), /did not work/i);
    await page.goto(`${team.url}/connect`);
    assert.match(await page.innerText('main'), /Connect a client/);
  });
});

describe('the time that a browser is signed in', () => {
  it('is twelve hours, or less where the key ends, and a clock that is set back makes it no longer', async (t) => {
    const wait = timeOf(t);
    await using team = await startTeam();
    const hour = 3_600_000;
    const began = Date.now();
    const long = await signInByKey(team.url, await team.key('ada'));
    const short = await signInByKey(team.url, await team.key('eve', undefined, began + hour));
    const open = async (cookie: string): Promise<number> =>
      (await fetch(`${team.url}/connect`, { headers: { cookie } })).status;
    assert.deepEqual([await open(long), await open(short)], [200, 200]);
    wait(3601);
    assert.deepEqual([await open(long), await open(short)], [200, 401]);
    wait(11 * 3600);
    assert.equal(await open(long), 401);
    t.mock.timers.setTime(began - hour);
    assert.equal(await open(long), 401);
    t.mock.timers.setTime(began + hour / 2);
    assert.equal(await open(long), 200, 'it is as long as it was');
    recordProof('G1:a-sign-in-ends');
  });
});

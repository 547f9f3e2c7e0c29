import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { openDatabase } from '../../src/database/open.ts';
import { getDatabaseLocation } from '../../src/server/store-options.ts';
import { rotateKey } from '../../src/users/keys.ts';
import { send, startTeam, type Team } from '../users/team.testing.ts';
import { findBarriers, noBrowser, openBrowser, type OpenBrowser } from './browser.testing.ts';

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
    const forged = { cookie: headers.cookie.replace(/=[0-9a-f]{4}/, '=0000') };
    assert.equal((await fetch(`${team.url}/library`, { headers: forged })).status, 401);
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

import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { getAuditFolder } from '../../../src/core/audit/audit.ts';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { send, startTeam, type Member, type Team } from '../users/team.testing.ts';
import { findBarriers, noBrowser, openBrowser, type OpenBrowser } from './browser.testing.ts';

const injection = `"'><script>alert(1)</script><img src=x onerror=alert(1)>`;
const views = ['/usage', '/operate', '/operate/users', '/operate/runs', '/operate/links', '/operate/audit'];

describe('usage, and the views for operators', { skip: noBrowser }, () => {
  let team: Team;
  let browser: OpenBrowser;
  let ada: Member;
  let eve: Member;
  let operator: Member;
  before(async () => {
    [team, browser] = await Promise.all([startTeam({ sandbox: 'auto' }), openBrowser()]);
    ada = await team.join('ada');
    eve = await team.join('eve@example.org');
    operator = await team.join('olga', ['operator', 'code', 'files']);
  });
  after(async () => {
    await browser?.[Symbol.asyncDispose]();
    await team?.[Symbol.asyncDispose]();
  });

  async function signIn(page: Page, key: string): Promise<void> {
    await page.goto(team.url);
    await page.fill('input[name=key]', key);
    await page.keyboard.press('Enter');
    await page.locator('nav').first().waitFor();
  }

  const runForever = async (member: Member, code: string): Promise<string> =>
    (await member.call('execute_code', { language: 'bash', code, background: true })).data.execution_id;

  const share = async (member: Member, name: string): Promise<string> => {
    const file_id = await send(member, name, 'x');
    return (await member.call('share_file', { file_id })).data.downloadUrl;
  };

  for (const [look, options] of [
    ['light', { colorScheme: 'light' }],
    ['dark, on a phone', { colorScheme: 'dark', viewport: { width: 390, height: 800 } }],
    ['without JavaScript', { javaScriptEnabled: false }],
  ] as const)
    it(`show all that there is, and nothing of it runs (${look})`, async () => {
      const { page, complaints } = await browser.open(options);
      await share(eve, `${injection}.txt`);
      const id = await runForever(eve, `# ${injection}\nsleep 600`);
      await signIn(page, operator.bearer);
      for (const path of [
        ...views,
        '/operate/audit/verify',
        `/operate/audit?text=${encodeURIComponent(injection)}`,
      ]) {
        await page.goto(team.url + path);
        await page.locator('h1').waitFor();
        const width = await page.locator('body').evaluate((body) => body.scrollWidth);
        assert.ok(width <= page.viewportSize()!.width, `${path} is ${width} wide`);
        assert.equal(await page.locator('main script, main img').count(), 0, path);
        if (look !== 'without JavaScript') assert.deepEqual(await findBarriers(page), [], path);
      }
      await page.goto(`${team.url}/operate/runs`);
      assert.ok((await page.innerText('main')).includes(`# ${injection}`));
      await page.goto(`${team.url}/operate/links`);
      assert.match(await page.innerText('main'), /onerror=alert\(1\)>\.txt/);
      assert.deepEqual(complaints, []);
      await eve.call('cancel_execution', { execution_id: id });
    });

  it('do the day of an operator on the page alone', async () => {
    const { page, complaints } = await browser.open();
    const hedy = await team.join('hedy');
    await hedy.call('execute_code', {
      language: 'bash',
      code: 'head -c 9000000 /dev/zero > /artifacts/full.bin',
    });
    const id = await runForever(hedy, 'echo of hedy\nsleep 600');
    const url = await share(hedy, 'of-hedy.csv');
    await signIn(page, operator.bearer);

    // Who fills the disk.
    await page.click('nav >> text=Operate');
    assert.match(await page.innerText('main'), /ready/);
    await page.click('text=Users');
    const first = page.locator('tbody tr').first();
    assert.match(await first.innerText(), /^hedy\b[^]*8\.6 MB/);

    // End the run of somebody else, by keyboard.
    await page.click('main nav >> text=Running');
    assert.match(await page.innerText('tbody'), /hedy[^]*echo of hedy[^]*bash/);
    await page.locator(`[aria-label="End the run ${id} of hedy"]`).focus();
    await page.keyboard.press('Enter');
    // The address stays the same, so it does not tell when the run is gone.
    await page.locator(`[aria-label*="${id}"]`).waitFor({ state: 'detached' });
    const ended = await hedy.call('get_execution', { execution_id: id });
    assert.deepEqual([ended.data.end_reason, ended.data.cancelled_by], ['cancelled', 'operator']);
    assert.match(ended.text, /cancelled[^"]* by an operator/);

    // Revoke the link of somebody else.
    assert.equal((await fetch(url)).status, 200);
    await page.click('main nav >> text=Links');
    await page.fill('input[name=user]', 'hedy');
    await page.keyboard.press('Enter');
    await page.waitForURL(/user=hedy/);
    const row = page.locator('tbody tr', { hasText: 'of-hedy.csv' });
    assert.match(await row.innerText(), /active[^]*1\b/);
    assert.doesNotMatch(await page.content(), new RegExp(url.split('/').at(-1)!), 'the token is shown');
    await row.locator('button').click();
    await page.locator('tbody tr', { hasText: 'of-hedy.csv' }).locator('text=revoked').waitFor();
    assert.equal((await fetch(url)).status, 404);

    // Find both in the audit log, with who did it.
    await page.goto(`${team.url}/operate/audit?user=olga&text=operate_`);
    const lines = await page.innerText('tbody');
    assert.match(lines, /olga\s+operate_revoke_link\s+ok[^]*owner hedy/);
    assert.match(lines, new RegExp(`olga\\s+operate_end_run\\s+ok\\s+${id}[^]*owner hedy`));

    // Verify it.
    await page.click('text=Verify');
    await page.locator('h2', { hasText: 'No line was changed, removed or added.' }).waitFor();
    assert.deepEqual(complaints, []);
    recordProof('G1:operator-day');
  });

  it('show errors, refused keys and a backup as they come', async () => {
    const { page } = await browser.open({ javaScriptEnabled: false });
    await signIn(page, operator.bearer);
    const readTile = async (name: string): Promise<number> => {
      await page.goto(`${team.url}/operate`);
      return Number(await page.locator('.tile', { hasText: name }).locator('.figure').innerText());
    };
    const [keys, failed] = [await readTile('Refused keys'), await readTile('Failed requests')];
    const headers = { authorization: `Bearer wck_${'a'.repeat(43)}` };
    for (let time = 0; time < 3; time++) await fetch(`${team.url}/mcp`, { method: 'POST', headers });
    assert.equal(await readTile('Refused keys'), keys + 3);
    assert.equal(await readTile('Failed requests'), failed + 3);
    assert.match(await page.innerText('main'), /unauthorized \(\d+\)/);
    assert.match(await page.innerText('main'), /none recorded/);
    await writeFile(join(team.config.data, 'last-backup'), '');
    await page.reload();
    assert.doesNotMatch(await page.innerText('main'), /none recorded/);
    assert.equal(await page.locator('.plot svg[role=img]').count(), 6);
    assert.match(
      (await page.locator('.plot svg').first().getAttribute('aria-label'))!,
      /^Runs per minute, last \d+ minutes\. succeeded: now \d/,
    );
    recordProof('G1:operator-health');
  });

  it('refuse whoever has no scope for it, in words and without data, and note that', async () => {
    const { page } = await browser.open();
    const plain = await team.join('mary');
    const [url, id] = [await share(ada, 'secret-name.csv'), await runForever(ada, 'sleep 600 # secret code')];
    await signIn(page, plain.bearer);
    assert.equal(await page.locator('nav >> text=Operate').count(), 0);
    for (const path of [...views.slice(1), '/operate/audit/verify']) {
      assert.equal((await page.goto(team.url + path))?.status(), 403, path);
      const shown = await page.innerText('body');
      assert.match(shown, /for operators, and your key has no operator scope/);
      assert.doesNotMatch(shown, /secret|\bada\b|eve@/, path);
    }
    await page.goto(`${team.url}/usage`);
    const token = await page.locator('input[name=token]').first().getAttribute('value');
    const cookie = (await page.context().cookies()).map(({ name, value }) => `${name}=${value}`).join();
    for (const path of [`/operate/runs/${id}/end`, '/operate/links/0123456789abcdef/revoke']) {
      const body = new URLSearchParams({ token: token! });
      const answer = await fetch(team.url + path, {
        method: 'POST',
        body,
        headers: { cookie },
        redirect: 'manual',
      });
      assert.equal(answer.status, 403, path);
    }
    assert.equal((await ada.call('get_execution', { execution_id: id })).data.end_reason, 'running');
    assert.equal((await fetch(url)).status, 200);
    const found = await operator.call('search_audit', { user: 'mary', result: 'forbidden' });
    assert.ok(
      found.data.lines.some(({ operation }: { operation: string }) => operation === 'operate_end_run'),
    );
    await ada.call('cancel_execution', { execution_id: id });
    recordProof('G1:operators-only');
  });

  it('do nothing for a form without its token', async () => {
    const id = await runForever(ada, 'sleep 600');
    const { page } = await browser.open();
    await signIn(page, operator.bearer);
    const cookie = (await page.context().cookies()).map(({ name, value }) => `${name}=${value}`).join();
    const body = new URLSearchParams({ token: 'x' });
    const answer = await fetch(`${team.url}/operate/runs/${id}/end`, {
      method: 'POST',
      body,
      headers: { cookie },
    });
    assert.equal(answer.status, 403);
    assert.equal((await ada.call('get_execution', { execution_id: id })).data.end_reason, 'running');
    await ada.call('cancel_execution', { execution_id: id });
  });

  it('show users what they have against what they may have, and nothing of others', async () => {
    const { page } = await browser.open({ javaScriptEnabled: false });
    const grace = await team.join('grace');
    await send(grace, 'hers.bin', 'x'.repeat(2048));
    await grace.call('execute_code', { language: 'bash', code: 'head -c 3000000 /dev/zero > /artifacts/a' });
    await grace.call('execute_code', { language: 'bash', code: 'exit 3' });
    await grace.call('start_session', { language: 'bash' });
    await signIn(page, grace.bearer);
    await page.click('nav >> text=Usage');
    const tile = (name: string): Promise<string> => page.locator('.tile', { hasText: name }).innerText();
    assert.match(await tile('Stored files'), /2 KB\s+of 64 GB, 1 of 100,000 files/);
    assert.match(await tile('Disk of your runs'), /2\.9 MB\s+of 10 GB/);
    assert.match(await tile('Open sessions'), /1\s+of 5/);
    assert.match(await tile('Packed crates'), /^Packed crates\s+0/);
    const shown = await page.innerText('main');
    assert.match(shown, /Runs of the last day\s+failed\s+1\s+ok\s+1/);
    assert.match(shown, /Memory\s+1 GB/);
    assert.match(shown, /Network\s+none/);
    assert.match(shown, /Largest upload\s+16 GB/);
    // A key that is good for files alone is told of files alone.
    const { page: other } = await browser.open();
    await signIn(other, await team.key('files-only', ['files']));
    await other.goto(`${team.url}/usage`);
    assert.match(await other.innerText('main'), /Stored files/);
    assert.doesNotMatch(await other.innerText('main'), /Open sessions|Runs of the last day|Packed crates/);
    recordProof('G1:usage');
  });

  it('say what is wrong with an audit log that somebody changed', async () => {
    const { page } = await browser.open();
    await signIn(page, operator.bearer);
    const folder = getAuditFolder(team.config.data);
    const file = (await readdir(folder)).find((name) => name.endsWith('.jsonl'));
    const path = join(folder, file!);
    await eventually(async () => (await readFile(path, 'utf8')).includes('"user":"ada"'));
    const log = await readFile(path, 'utf8');
    await writeFile(path, log.replace('"user":"ada"', '"user":"eve"'));
    await page.goto(`${team.url}/operate/audit`);
    await page.click('text=Verify');
    await page.locator('h2', { hasText: 'The audit log is not as it was written.' }).waitFor();
    assert.match(await page.innerText('main'), /What was found\s+audit-[^]*line \d+/);
    await page.goto(`${team.url}/operate/audit?user=eve`);
    assert.match(await page.innerText('main'), /changed after it was written/);
    recordProof('G1:audit-verified');
  });
});

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { noBrowser, openBrowser, type OpenBrowser } from '../pages/browser.testing.ts';
import { startServer, upload, type TestServer } from '../../server.testing.ts';
import { openHost } from './host.testing.ts';

const injections = [
  `"'><script>parent.postMessage('pwned', '*')</script>`,
  '<img src=x onerror="document.title=1">',
  '</script></style></title><svg onload=alert(1)>',
  'javascript:alert(1)//',
  '${alert(1)} {{7*7}} <%= 1 %>',
  '\u202egpj.exe\u0000\u2028<b>',
];
const all = injections.join(' ');

/** What a view may be given in the place of anything. */
const oddities: readonly unknown[] = [null, 0, -1, true, '', all, [], [all, null, 7, {}], {}, { [all]: all }];

const uris = ['run', 'table', 'crate', 'file-picker'].map((name) => `ui://workcrate/${name}`);

describe('hostile data and broken hosts', { skip: noBrowser }, () => {
  let server: TestServer;
  let browser: OpenBrowser;
  before(async () => {
    [server, browser] = await Promise.all([startServer({ sandbox: 'auto' }), openBrowser()]);
  });
  after(async () => {
    await browser?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  });

  it('names, output, cells and metadata are text, whatever is in them', async () => {
    await using host = await openHost(browser, server.url);
    const code = `text = ${JSON.stringify(all.replace('\0', ''))}
print(text)
name = "<img src=x onerror=alert(1)>.csv"
open('/artifacts/' + name, 'w').write('"' + text.replace('"', '""') + '",b\\n' + '"' + text.replace('"', '""') + '",1\\n')
raise ValueError(text)`;
    const { view, result } = await host.show('execute_code', { language: 'python', code });
    await view.click('text=Look');
    await view.locator('td').first().waitFor();
    assert.ok((await view.innerText('main')).includes('<img src=x onerror="document.title=1">'));
    assert.equal(await view.locator('main script, main svg, main b, main img').count(), 0);
    const { execution_id: id } = result._meta!['workcrate/view'] as { execution_id: string };
    await server.call('pack_crate', { execution_id: id, title: all.slice(0, 150), description: all });
    await server.call('sync_index', {});
    const search = await host.show('search_index', { query: '' });
    await search.view.locator('button.title').first().click();
    await search.view.locator('.files li').first().waitFor();
    assert.equal(await search.view.locator('main script, main svg, main b, main img').count(), 0);
    const file_id = await upload(server, 'x.csv', `"${all.replaceAll('"', '""').replaceAll('\0', '')}"\n1\n`);
    const table = await host.show('share_file', { file_id });
    await table.view.locator('td').first().waitFor();
    assert.equal(await table.view.title(), 'A file · Workcrate');
    assert.deepEqual(host.complaints, []);
    recordProof('G2:hostile-data-is-text');
  });

  it('an SVG is a picture that runs nothing', async () => {
    await using host = await openHost(browser, server.url);
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9" onload="parent.postMessage('pwned','*')"><script>document.title='pwned'</script><image href="http://127.0.0.1:9/x.png"/></svg>`;
    const file_id = await upload(server, 'x.svg', svg);
    const { view } = await host.show('share_file', { file_id });
    await view.locator('img').waitFor();
    assert.match((await view.locator('img').getAttribute('src'))!, /^data:image\/svg\+xml;base64,/);
    assert.equal(await view.title(), 'A file · Workcrate');
    assert.deepEqual(host.complaints, []);
  });

  it('an answer of any form breaks no view', async () => {
    await using host = await openHost(browser, server.url);
    const names =
      'end_reason exit_code stdout stderr results artifacts unenforced limits output execution_id crate_id path filename size downloadUrl results total authors license issues files types status offer uploadUrl'.split(
        ' ',
      );
    for (const uri of uris) {
      const data = [
        ...oddities,
        ...oddities.map((odd) => Object.fromEntries(names.map((name) => [name, odd]))),
        ...oddities.map((odd) => Object.fromEntries(names.map((name) => [name, [odd, { parts: odd }]]))),
      ];
      const results = data.map((odd) => ({ content: [], _meta: { 'workcrate/view': odd } }));
      await host.showAnswer(uri, { name: {} }, { content: [{ type: 'text', text: all }] });
      for (const result of results) {
        await host.page.evaluate(`host.bridge.sendToolResult(${JSON.stringify(result)})`);
        assert.equal(await host.page.frames()[1]!.locator('main script, main b, main svg').count(), 0);
      }
      await host.page.evaluate('host.bridge.sendToolCancelled({})');
      await host.page.frames()[1]!.locator('text=This call was cancelled').waitFor();
    }
    assert.deepEqual(host.complaints, []);
  });

  it('a host that leaves out the data of the view shows the text, and one that cannot call tools what there is', async () => {
    await using host = await openHost(browser, server.url, { capabilities: {} });
    const text = { content: [{ type: 'text', text: 'all <b>of</b> it' }] };
    for (const uri of uris) {
      const view = await host.showAnswer(uri, {}, text);
      await view.locator('pre', { hasText: 'all <b>of</b> it' }).waitFor();
      await host.page.evaluate(`host.bridge.sendToolResult(${JSON.stringify({ ...text, isError: true })})`);
      await view.locator('[role=alert]', { hasText: 'all <b>of</b> it' }).waitFor();
    }
    const { view } = await host.show('execute_code', { language: 'python', code: 'print("here")' });
    await view.locator('pre', { hasText: 'here' }).last().waitFor();
    assert.equal(await view.locator('button').count(), 0);
    assert.deepEqual(host.calls, []);
    assert.deepEqual(host.complaints, []);
  });

  it('a host that answers calls with nothing that can be read is told of in words', async () => {
    const answers: unknown[] = [{ content: [] }, { content: [{ type: 'text', text: 'no' }], isError: true }];
    for (const answer of answers) {
      await using host = await openHost(browser, server.url, { answer: () => answer });
      await server.call('execute_code', { language: 'bash', code: 'echo a,b > /artifacts/t.csv' });
      const { view } = await host.show('get_artifact', { name: 't.csv' });
      await view.locator('.panel .failed').waitFor();
      await view.click('text=Open');
      await eventually(() => host.requests.length === 1);
      assert.deepEqual(host.complaints, []);
    }
  });

  it('a host that says nothing, or garbage, is told of in words, and the view waits no longer', async () => {
    const { page, complaints } = await browser.open();
    const { contents } = await server.client.readResource({ uri: uris[0]! });
    const { text } = contents[0] as { text: string };
    const garbage = `for (const data of ['{', 7, null, [], { jsonrpc: '2.0' }, { jsonrpc: '2.0', id: 1 }, { jsonrpc: '2.0', id: 99, result: 1 },
      { jsonrpc: '2.0', method: {} }, { jsonrpc: '2.0', method: 'constructor' }, { jsonrpc: '2.0', method: 'ui/notifications/tool-result', params: 7 },
      { jsonrpc: '2.0', id: 5, method: 'ping' }, { jsonrpc: '2.0', id: {}, method: 'nothing' }]) frame.contentWindow.postMessage(data, '*');`;
    for (const [speaks, words] of [
      ['', /does not answer/],
      [garbage, /nothing that can be|does not answer/],
    ] as const) {
      await page.setContent('<iframe sandbox="allow-scripts"></iframe>');
      await page.evaluate(
        `{ const frame = document.querySelector('iframe'); frame.onload = () => { ${speaks} }; frame.srcdoc = ${JSON.stringify(text)}; }`,
      );
      await page.frameLocator('iframe').locator('main p', { hasText: words }).waitFor();
    }
    assert.deepEqual(complaints, []);
    recordProof('G2:silent-and-broken-hosts');
  });
});

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { freePort } from '../../../src/platform/free-port.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { temporaryFolder } from '../cli/program.testing.ts';
import { processesWith } from '../../processes.testing.ts';
import { startTeam } from '../users/team.testing.ts';
import { browser, everything, filesystem, noBrowser, noServers, writeServers } from './servers.testing.ts';

describe('server-everything and the filesystem server behind the gateway', { skip: noServers }, () => {
  for (const version of ['2025-11-25', '2026-07-28'] as const)
    it(`offer tools, resources, prompts, completion and progress to a client of ${version}`, async () => {
      await using folder = await temporaryFolder();
      await writeFile(join(folder.path, 'a.txt'), 'from a file');
      const servers = { all: everything('stdio'), files: filesystem(folder.path) };
      await using team = await startTeam({
        gateway: await writeServers(folder.path, { mcpServers: servers }),
      });
      const ann = await team.join('ann', undefined, version);
      const { tools } = await ann.client.listTools();
      const names = new Set(tools.map(({ name }) => name));
      assert.ok(names.has('execute_code') && names.has('all_echo') && names.has('files_read_text_file'));
      assert.match((await ann.call('all_echo', { message: 'hi' })).text, /"Echo: hi"/);
      const path = join(folder.path, 'a.txt');
      assert.match((await ann.call('files_read_text_file', { path })).text, /"from a file"/);
      assert.equal((await ann.call('files_read_text_file', { path: '/etc/passwd' })).failed, true);

      const { resources } = await ann.client.listResources();
      const found = resources.find(({ uri }) => uri.startsWith('gateway://all/'))!;
      const { contents } = await ann.client.readResource({ uri: found.uri });
      assert.equal(contents[0]!.uri, found.uri);
      const { resourceTemplates } = await ann.client.listResourceTemplates();
      assert.ok(resourceTemplates.some(({ uriTemplate }) => uriTemplate.startsWith('gateway://all/demo://')));

      const { prompts } = await ann.client.listPrompts();
      assert.ok(prompts.some(({ name }) => name === 'all_args-prompt'));
      const prompt = await ann.client.getPrompt({ name: 'all_args-prompt', arguments: { city: 'Bern' } });
      assert.match(JSON.stringify(prompt.messages), /Bern/);
      const ref = { type: 'ref/prompt', name: 'all_completable-prompt' } as const;
      const { completion } = await ann.client.complete({ ref, argument: { name: 'department', value: 'E' } });
      assert.ok(completion.values.length > 0, JSON.stringify(completion));

      const seen: number[] = [];
      await ann.client.callTool(
        { name: 'all_trigger-long-running-operation', arguments: { duration: 1, steps: 4 } },
        { onprogress: ({ progress }) => void seen.push(progress) },
      );
      assert.ok(seen.length >= 2, String(seen));

      const bob = await team.join('bob', ['files'], version);
      assert.ok((await bob.client.listTools()).tools.every(({ name }) => !name.startsWith('all_')));
      assert.equal((await bob.call('all_echo', { message: 'hi' })).code, 'forbidden');
      recordProof('F3:real-servers');
    });

  it('are reached over HTTP too, and come back after they were killed', async () => {
    await using folder = await temporaryFolder();
    const port = await freePort();
    const start = () => {
      const { command, args } = everything('streamableHttp');
      return spawn(command, args, { env: { ...process.env, PORT: String(port) }, stdio: 'ignore' });
    };
    const isUp = async (): Promise<boolean> =>
      fetch(`http://127.0.0.1:${port}/mcp`).then(
        () => true,
        () => false,
      );
    let server = start();
    try {
      await eventually(isUp, 100);
      const mcpServers = { web: { type: 'http', url: `http://127.0.0.1:${port}/mcp` } };
      await using team = await startTeam({ gateway: await writeServers(folder.path, { mcpServers }) });
      const ann = await team.join('ann');
      assert.match((await ann.call('web_echo', { message: 'hi' })).text, /"Echo: hi"/);
      server.kill('SIGKILL');
      await once(server, 'exit');
      assert.equal((await ann.call('web_echo', { message: 'hi' })).code, 'upstream_failed');
      server = start();
      await eventually(isUp, 100);
      await eventually(
        async () => (await ann.call('web_echo', { message: 'again' })).text.includes('Echo: again'),
        500,
      );
    } finally {
      server.kill('SIGKILL');
    }
  });
});

it('the browsers of two users share nothing', { skip: noBrowser }, async () => {
  await using folder = await temporaryFolder();
  const site = createServer((request, response) => {
    if (request.url === '/log-in') response.setHeader('Set-Cookie', 'visited=yes');
    response.setHeader('Content-Type', 'text/html');
    response.end(`<title>Site</title><h1>cookie: ${request.headers.cookie ?? 'none'}</h1>`);
  });
  site.listen(0, '127.0.0.1');
  await once(site, 'listening');
  const url = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  try {
    await using team = await startTeam({
      gateway: await writeServers(folder.path, { mcpServers: { web: { ...browser, timeout: 120_000 } } }),
    });
    const [ann, bob] = [await team.join('ann'), await team.join('bob')];
    const go = async (member: typeof ann, path: string): Promise<string> => {
      const went = await member.call('web_browser_navigate', { url: `${url}${path}` });
      assert.equal(went.failed, false, went.text);
      return (await member.call('web_browser_snapshot')).text;
    };
    await go(ann, '/log-in');
    assert.match(await go(ann, '/log-in?again'), /cookie: visited=yes/);
    assert.match(await go(bob, '/'), /cookie: none/);
    assert.doesNotMatch((await bob.call('web_browser_tabs', { action: 'list' })).text, /log-in/);
  } finally {
    site.closeAllConnections();
    site.close();
  }
  await eventually(() => processesWith('@playwright/mcp/cli.js').length === 0);
  recordProof('F3:two-users-share-nothing');
});

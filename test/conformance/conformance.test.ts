import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { recordProof } from '../requirements/requirements.testing.ts';
import { startServe, startServeWithFixtures } from './cli.testing.ts';
import { complaints, expectedToFail, runSuite, scoredScenarios, type Revision } from './suite.testing.ts';

const revisions: readonly Revision[] = ['2025-11-25', '2026-07-28'];

/** What a server can pass without offering the suite's own tools, prompts and resources. */
const needNoFixtures: Record<Revision, readonly string[]> = {
  '2025-11-25': [
    'server-initialize',
    'server-session-lifecycle',
    'ping',
    'tools-list',
    'resources-list',
    'prompts-list',
    'server-sse-multiple-streams',
    'dns-rebinding-protection',
  ],
  '2026-07-28': [
    'tools-list',
    'resources-list',
    'prompts-list',
    'sep-2164-resource-not-found',
    'caching',
    'server-sse-multiple-streams',
    'dns-rebinding-protection',
    'http-header-validation',
    'input-required-result-unsupported-methods',
    'input-required-result-validate-input',
  ],
};

for (const revision of revisions)
  describe(`the conformance suite for MCP ${revision}`, () => {
    it('passes in the scenarios that need no fixtures, against the server as users start it', async () => {
      await using server = await startServe();
      await sendFile(server.url);
      const { checks } = await runSuite(server.url, revision);
      const wanted = checks.filter(({ scenario }) => needNoFixtures[revision].includes(scenario));
      assert.deepEqual(complaints(wanted), []);
      const seen = new Set(
        wanted.filter(({ status }) => status === 'SUCCESS').map(({ scenario }) => scenario),
      );
      assert.deepEqual([...seen].sort(), needNoFixtures[revision].toSorted());
      assert.deepEqual(
        wanted.filter(({ status }) => status === 'SKIPPED').map(({ id }) => id),
        [],
      );
      recordProof('G3:conformance-without-fixtures');
    });

    it('passes in every scenario that counts, against the server with the fixtures', async () => {
      await using server = await startServeWithFixtures();
      const { exitCode, checks } = await runSuite(server.url, revision);
      const excused = await expectedToFail();
      assert.deepEqual(complaints(checks.filter(({ scenario }) => !excused.includes(scenario))), []);
      const seen = new Set(checks.map(({ scenario }) => scenario));
      assert.deepEqual(
        (await scoredScenarios(revision)).filter((scenario) => !seen.has(scenario)),
        [],
      );
      assert.equal(exitCode, 0);
    });

    it('excuses no scenario that counts', async () => {
      const scored = await scoredScenarios(revision);
      assert.deepEqual(
        (await expectedToFail()).filter((scenario) => scored.includes(scenario)),
        [],
      );
    });
  });

/** Leaves a file, so that there is a resource to read. */
async function sendFile(url: string): Promise<void> {
  const client = new Client({ name: 'sender', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)));
  const offered = await client.callTool({ name: 'request_upload', arguments: { filename: 'a.txt' } });
  await client.close();
  const [uploadUrl] = /http:[^'"\s\\]+\/uploads\/[\w-]+/.exec(JSON.stringify(offered))!;
  assert.equal((await fetch(uploadUrl, { method: 'PUT', body: 'hello' })).status, 201);
}

it('the fixtures are not there unless they are asked for', async () => {
  await using server = await startServe();
  const body = { jsonrpc: '2.0', id: 1, method: 'initialize', params: handshake };
  const answer = await fetch(`${server.url}/mcp`, { method: 'POST', headers, body: JSON.stringify(body) });
  const [, message] = /^data: (\{.*\})$/m.exec(await answer.text())!;
  assert.deepEqual(JSON.parse(message!).result.capabilities, {
    tools: { listChanged: false },
    resources: { listChanged: false, subscribe: false },
    prompts: { listChanged: false },
    completions: {},
    extensions: {
      'io.modelcontextprotocol/skills': { directoryRead: true },
      'io.modelcontextprotocol/ui': {},
    },
  });
});

const headers = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
const handshake = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'test', version: '1' },
};

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { inputRequired } from '@modelcontextprotocol/server';
import type { Audit } from '../../../core/audit/audit.ts';
import { createServerFactory } from '../../../surfaces/mcp/server.ts';
import { createLog } from '../../../platform/observability/log.ts';
import { createMetrics } from '../../../platform/observability/metrics.ts';
import { recordProof } from '../../../../test/requirements/requirements.testing.ts';
import { createPathPolicy } from '../policy/policy.ts';
import { createCache } from './cache.ts';
import { bindTool } from '../../../core/offer/tool.ts';
import { guideCacheFileTool, type CacheRoom } from './tools.ts';

const policy = createPathPolicy({ root: '/p', read: null, list: null });

/** Keeps its lines in memory, as few words. */
function memoryAudit(): Audit & { readonly lines: string[] } {
  const lines: string[] = [];
  return {
    lines,
    note: ({ level, operation, user, client, subject, result }) =>
      void lines.push([level, operation, user, client, subject, result].join(' ')),
    noteSoon: () => assert.fail('nothing is noted later'),
    violation: ({ operation, subject, result }, kind) =>
      lines.push(['violation', operation, subject, result, kind].join(' ')),
    synced: async () => {},
    flush: async () => {},
    async [Symbol.asyncDispose]() {},
  };
}

/** The tools behind a real client, which checks every answer against the schema that it was told. */
async function connected(policyFor: CacheRoom['policyFor'] = async () => policy) {
  const cache = createCache({ mostBytes: 100_000, mostEntries: 100, clock: Date.now });
  const audit = memoryAudit();
  const factory = createServerFactory({
    structured: true,
    tools: [bindTool(guideCacheFileTool, { cache, policyFor, audit })],
    metrics: createMetrics(),
    log: createLog('error', () => {}),
    sharesMachine: false,
    caller: { user: 'ada' },
  });
  const server = await factory({} as Parameters<typeof factory>[0]);
  const client = new Client({ name: 'test', version: '1' }, { capabilities: { roots: {} } });
  client.setRequestHandler('roots/list', () => ({ roots: [{ uri: 'file:///p' }] }));
  const [here, there] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(there), client.connect(here)]);
  await client.listTools();
  return {
    cache,
    audit,
    async call(name: string, input: Record<string, unknown>) {
      const { isError, content, structuredContent } = await client.callTool({ name, arguments: input });
      const { text } = content[0] as { text: string };
      // oxlint-disable-next-line typescript/no-explicit-any -- a test names the fields that it expects
      return { failed: isError === true, text, data: structuredContent as any };
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

test('guide_cache_file takes one file or several, and tells the statistics', async () => {
  await using mcp = await connected();
  const one = await mcp.call('guide_cache_file', { path: 'docs/a.md', content: 'x', mtime: 1.5 });
  assert.deepEqual(
    one.data.stored.map((file: { path: string; size: number }) => [file.path, file.size]),
    [['docs/a.md', 1]],
  );
  assert.equal(one.data.cache.entries, 1);
  const files = [
    { path: 'src/b', content: 'eA==', binary: true },
    { path: '/p/src/c', content: '' },
  ];
  const several = await mcp.call('guide_cache_file', { files });
  assert.equal(several.data.cache.entries, 3);
  assert.match(
    several.text,
    /^Remembered for an hour: 2\.\nsrc\/b  1 bytes\nsrc\/c  0 bytes  utf-8\nCached for you: 3 files/,
  );
  assert.equal(mcp.cache.get('ada', '/p', 'src/c')?.size, 0);
  recordProof('E9:one-file-or-several', 'E9:statistics-returned');
});

test('both or half of a file is refused with what to give', async () => {
  await using mcp = await connected();
  const file = { path: 'docs/a', content: 'x' };
  for (const input of [
    { path: 'docs/a' },
    { content: 'x' },
    { ...file, files: [file] },
    { binary: true, files: [file] },
  ]) {
    const answer = await mcp.call('guide_cache_file', input);
    assert.ok(answer.failed);
    assert.match(answer.text, /either path and content, or files/);
  }
  for (const input of [
    { forget: 'docs/a', ...file },
    { forget: 'docs/a', files: [file] },
  ])
    assert.match((await mcp.call('guide_cache_file', input)).text, /forget goes alone/);
  for (const input of [
    { files: [] },
    { files: [{ path: 'docs/a' }] },
    { ...file, mtime: -1 },
    { ...file, more: 1 },
  ])
    assert.ok((await mcp.call('guide_cache_file', input)).failed);
  assert.equal(mcp.cache.statistics().entries, 0);
});

test('every file given is an audit line, and a path that leads out of the project a violation with its kind', async () => {
  await using mcp = await connected();
  const files = ['docs/a', 'docs/b'].map((path) => ({ path, content: 'x' }));
  await mcp.call('guide_cache_file', { files });
  await mcp.call('guide_cache_file', { files: [...files, { path: '.env', content: 'x' }] });
  await mcp.call('guide_cache_file', { path: 'docs/a', content: '€', encoding: 'latin-1' });
  await mcp.call('guide_cache_file', { forget: 'docs/../../x' });
  assert.deepEqual(
    mcp.audit.lines.map((line) => line.replace(/ \w+$/, (end) => (line.startsWith('violation') ? '' : end))),
    [
      'trace guide_cache_file ada test 1 docs/a ok',
      'trace guide_cache_file ada test 1 docs/b ok',
      'info guide_cache_file ada test 1 .env path_not_allowed',
      'info guide_cache_file ada test 1 docs/a invalid_input',
      'violation guide_cache_file docs/../../x path_refused',
    ],
  );
});

test('without a file it tells the statistics of the caller alone, and it forgets a path', async () => {
  await using mcp = await connected();
  mcp.cache.get('bob', '/p', 'docs/x');
  await mcp.call('guide_cache_file', { path: 'docs/a', content: 'x' });
  const seen = await mcp.call('guide_cache_file', {});
  assert.deepEqual([seen.data.forgot, seen.data.cache.entries, seen.data.cache.misses], [null, 1, 0]);
  const gone = await mcp.call('guide_cache_file', { forget: './docs/a' });
  assert.deepEqual([gone.data.forgot, gone.data.cache.entries, gone.data.cache.bytes], [true, 0, 0]);
  assert.equal((await mcp.call('guide_cache_file', { forget: 'docs/a' })).data.forgot, false);
  recordProof('E5:hit-miss-and-eviction-counted');
});

test('where the root of the client is not known yet, it is asked for first', async () => {
  await using mcp = await connected(async ({ client }) => {
    const answer = client.answer('roots');
    if (answer.kind === 'missing') return { ask: { roots: inputRequired.listRoots() }, state: {} };
    return createPathPolicy({ root: '/q', read: null, list: null });
  });
  await mcp.call('guide_cache_file', { path: 'docs/a', content: 'x' });
  assert.ok(mcp.cache.get('ada', '/q', 'docs/a'));
});

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import type { Came } from './by-hand.testing.ts';
import { openingOf, versions } from './messages.testing.ts';
import { startStdio } from './stdio.testing.ts';

/** More than a message may have. */
const tooLarge = 'x'.repeat(34_000_000);

const call = (name: string, input: Record<string, unknown>) => ({ name, arguments: input });

for (const version of versions)
  describe(`a message over stdio that is too large, with MCP ${version}`, () => {
    const { opening, request } = openingOf(version);

    it('is answered with an error that says what to do, and the connection goes on', async () => {
      await using stdio = await startStdio();
      const content = { path: 'docs/a.txt', content: tooLarge };
      const { id, ...last } = request(3, 'tools/call', call('guide_cache_file', content));
      stdio.write(...opening, request(2, 'tools/call', call('guide_cache_file', content)), {
        ...last,
        id: id!,
      });
      stdio.write(request(4, 'tools/list'));
      await stdio.until((message) => message.id === 4);
      for (const wanted of [2, 3]) {
        const answer: Came = stdio.messages.find((message) => message.id === wanted)!;
        assert.equal(answer['error']?.code, -32_600, JSON.stringify(answer));
        assert.match(answer['error'].message, /32 MB.*request_upload/);
      }
      assert.match(stdio.logged(), /"event":"stdio.too_large".*"limit":33554432/);
      stdio.child.stdin.end();
      assert.deepEqual(await once(stdio.child, 'exit'), [0, null]);
    });
  });

for (const version of ['2025-11-25', '2025-06-18'] as const)
  it(`an answer that is too large is as good as none, with MCP ${version}`, async () => {
    await using stdio = await startStdio();
    const { opening, request } = openingOf(version, { roots: {} });
    stdio.write(
      ...opening,
      request(2, 'tools/call', call('read_client_file', { path: 'docs/a.txt', via: 'upload' })),
    );
    await stdio.until((message) => message.method === 'roots/list');
    const { id } = stdio.messages.find((message) => message.method === 'roots/list')!;
    const roots = [{ uri: `file:///${tooLarge}` }];
    stdio.write({ jsonrpc: '2.0', id: id!, result: { roots } });
    await stdio.until((message) => message.id === 2);
    const answer: Came = stdio.messages.find((message) => message.id === 2 && !message.method)!;
    assert.equal(answer['result']?.structuredContent?.status, 'offered', JSON.stringify(answer));
  });

/** Below the protocol, so in one version of it. */
const { opening, request } = openingOf('2026-07-28');

it('what guide_cache_file says that it takes can be sent, even if every character is escaped', async () => {
  await using stdio = await startStdio();
  const files = Array.from({ length: 4 }, (_, index) => ({
    path: `docs/${index}.txt`,
    content: '\u0001'.repeat(1_000_000),
  }));
  stdio.write(...opening, request(2, 'tools/call', call('guide_cache_file', { files })));
  await stdio.until((message) => message.id === 2);
  const answer: Came = stdio.messages.find((message) => message.id === 2)!;
  assert.equal(answer['result']?.structuredContent?.stored.length, 4, JSON.stringify(answer).slice(0, 300));
});

it('more than that is refused, with what to do instead', async () => {
  await using stdio = await startStdio();
  const content = 'x'.repeat(4_000_000);
  const files = ['docs/a', 'docs/b', 'docs/c'].map((path) => ({ path, content }));
  stdio.write(...opening, request(2, 'tools/call', call('guide_cache_file', { files })));
  await stdio.until((message) => message.id === 2);
  const answer: Came = stdio.messages.find((message) => message.id === 2)!;
  assert.equal(answer['result']?.isError, true);
  assert.match(answer['result'].content[0].text, /4194304 characters.*read_client_file/);
});

it('a signal ends it although stdin stays open', async () => {
  await using stdio = await startStdio();
  const { opening: older } = openingOf('2025-11-25');
  stdio.write(...older);
  await stdio.until((message) => message.id === 1);
  stdio.child.kill('SIGTERM');
  assert.deepEqual(await once(stdio.child, 'exit'), [0, null]);
});

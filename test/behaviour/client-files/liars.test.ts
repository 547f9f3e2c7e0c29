import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { request } from 'node:http';
import { Readable } from 'node:stream';
import { after, before, describe, it } from 'node:test';
import type { ClientCapabilities } from '@modelcontextprotocol/client';
import { versions } from '../../conformance/messages.testing.ts';
import { connect, type Connected, type Manners } from './clients.testing.ts';
import { send } from './honest.testing.ts';
import { serve, type Served } from './servers.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';

const form: ClientCapabilities = { elicitation: { form: {} } };
const url: ClientCapabilities = { elicitation: { url: {} } };

describe('a client that lies', () => {
  let served: Served;
  before(async () => void (served = await serve('HTTP')));
  after(() => served?.[Symbol.asyncDispose]());

  const liar = (
    capabilities: ClientCapabilities,
    manners: Manners,
    version: (typeof versions)[number] = '2026-07-28',
  ): Promise<Connected> => connect(served, { version, capabilities, manners });

  async function assertForgotten({ call }: Connected, path: string): Promise<void> {
    assert.equal((await call('guide_cache_file', { forget: path })).data?.forgot, false);
  }

  for (const version of versions)
    it(`about what is in a folder: nothing outside of it is shown, over MCP ${version}`, async () => {
      const content = [
        'file 3 2026-01-31T12:00:00Z docs/lies/true.txt',
        'docs/lies/../../secret.txt',
        '../secret.txt',
        '/etc/passwd',
        'docs/lies-secret/a.txt',
        'docs/elsewhere/a.txt',
        'secret.txt',
        'C:\\Users\\ada\\secret.txt',
        'docs/lies\\..\\..\\secret.txt',
        'docs/lies/%2e%2e/%2e%2e/secret.txt',
        'docs/lies/․․/secret.txt',
        'docs/lies/true.txt',
      ].join('\n');
      await using client = await liar(
        form,
        { form: async () => ({ action: 'accept', content: { content } }) },
        version,
      );
      const { data, text } = await client.call('list_client_directory', {
        path: 'docs/lies',
        recursive: true,
        via: 'form',
      });
      assert.deepEqual(
        data?.entries.map(({ path }: { path: string }) => path),
        ['docs/lies/true.txt'],
        text,
      );
      assert.ok(data.hidden >= 9, String(data.hidden));
      assert.doesNotMatch(text, /passwd|secret/);
      const [line] = await served.audited(({ details }) => details?.['kind'] === 'answered_outside');
      assert.equal(line!.level, 'warning');
      recordProof('E1:answer-checked-again');
    });

  it('a file that is larger than it was said to be does not come, and the place for it stays open', async () => {
    await using client = await liar({}, {});
    const input = { path: 'docs/larger.txt', size: 4, via: 'upload' };
    const { data, text } = await client.call('read_client_file', input);
    assert.equal(data?.status, 'offered', text);
    const put = await fetch(data.offer.uploadUrl, { method: 'PUT', body: 'far too long' });
    assert.ok(put.status >= 400, String(put.status));
    assert.equal((await client.call('read_client_file', input)).data?.status, 'offered');
    await assertForgotten(client, input.path);
    await fetch(data.offer.uploadUrl, { method: 'PUT', body: 'four' });
    assert.equal((await client.call('read_client_file', input)).data?.text, 'four');
    await client.call('guide_cache_file', { forget: input.path });
  });

  it('a file whose hash is not the one that was told does not come', async () => {
    await using client = await liar({}, {});
    const sha256 = createHash('sha256').update('the true one').digest('hex');
    const input = { path: 'docs/hash.txt', sha256, via: 'upload' };
    const { data, text } = await client.call('read_client_file', input);
    assert.equal(data?.status, 'offered', text);
    const put = await fetch(data.offer.uploadUrl, { method: 'PUT', body: 'another one!' });
    assert.ok(put.status >= 400, String(put.status));
    assert.equal((await client.call('read_client_file', input)).data?.status, 'offered');
    await assertForgotten(client, input.path);
  });

  for (const version of versions)
    it(`a form that is not what it was told to be is refused and not kept, over MCP ${version}`, async () => {
      const manners: Manners = { form: async () => ({ action: 'accept', content: { content: 'not this' } }) };
      await using client = await liar(form, manners, version);
      for (const told of [{ size: 3 }, { sha256: 'a'.repeat(64) }]) {
        const input = { path: `docs/form-${version}.txt`, via: 'form', ...told };
        const { failed, data } = await client.call('read_client_file', input);
        assert.equal(failed, true, JSON.stringify(data));
        await assertForgotten(client, input.path);
      }
    });

  for (const version of versions)
    for (const action of ['decline', 'cancel'] as const)
      it(`a client that says ${action} is heard, and told the next way, over MCP ${version}`, async () => {
        await using client = await liar(form, { form: async () => ({ action }) }, version);
        const { code, text } = await client.call('read_client_file', { path: 'docs/no.txt', via: 'form' });
        assert.equal(code, 'client_refused', text);
        assert.doesNotMatch(text, /person/, 'nobody knows whether one was asked');
        assert.match(text, /curl .*\/uploads\/[^]*\/ask\//);
        await assertForgotten(client, 'docs/no.txt');
      });

  it('a model that writes of another question, or leaves the marks out, has given nothing', async () => {
    const answers = ['BEGIN-x\nwrong\nEND-x', 'wrong', 'CACHED', ''];
    for (const answer of answers) {
      await using client = await liar({ sampling: {} }, { sample: async () => answer });
      const { failed, data } = await client.call('read_client_file', {
        path: 'docs/model.txt',
        via: 'sampling',
      });
      assert.equal(failed, true, JSON.stringify(data));
      await assertForgotten(client, 'docs/model.txt');
    }
  });

  it('what is remembered is not passed off as a file that is said to be another', async () => {
    const path = 'docs/remembered.txt';
    await using client = await liar({}, {});
    await client.call('guide_cache_file', { path, content: 'the old one' });
    for (const told of [{ size: 3 }, { sha256: 'b'.repeat(64) }]) {
      const { data, text } = await client.call('read_client_file', { path, ...told });
      assert.equal(data?.status, 'offered', text);
    }
    await client.call('guide_cache_file', { forget: path });
  });

  it('half a file, and then nothing: what came is not taken for the file', async () => {
    await using client = await liar({}, {});
    const input = { path: 'docs/half.txt', via: 'upload' };
    const { data } = await client.call('read_client_file', input);
    const put = request(data.offer.uploadUrl, { method: 'PUT', headers: { 'Content-Length': 1000 } });
    const gone = new Promise((resolve) => put.on('error', resolve));
    await new Promise((resolve) => put.write('half', resolve));
    put.destroy();
    await gone;
    assert.equal((await client.call('read_client_file', input)).data?.status, 'offered');
    await assertForgotten(client, input.path);
  });

  it('a page that was agreed to and not used ends as client_timeout', async () => {
    await using hasty = await serve('HTTP', { clientTimeout: 1 });
    const manners: Manners = { url: async () => ({ action: 'accept' }) };
    await using idle = await connect(hasty, { version: '2026-07-28', capabilities: url, manners });
    const { code, text } = await idle.call('read_client_file', { path: 'docs/idle.txt', via: 'url' });
    assert.equal(code, 'client_timeout', text);
    await assertForgotten(idle, 'docs/idle.txt');
  });

  it('of a file that is sent to its page twice, the first is the file', async () => {
    const statuses: number[] = [];
    const manners: Manners = {
      async url(page) {
        for (const body of ['first', 'second']) statuses.push((await send(page, body)).status);
        return { action: 'accept' };
      },
    };
    await using twice = await liar(url, manners);
    const { data } = await twice.call('read_client_file', { path: 'docs/two.txt', via: 'url' });
    assert.equal(data?.text, 'first');
    assert.equal(statuses[0], 201);
    assert.ok(statuses[1]! >= 400);
    await twice.call('guide_cache_file', { forget: 'docs/two.txt' });
  });

  it('a listing of a million is cut, and the server goes on', async () => {
    await using client = await liar({}, {});
    const input = { path: 'docs/many', recursive: true, via: 'upload' };
    const { data } = await client.call('list_client_directory', input);
    const put = await fetch(data.offer.uploadUrl, {
      method: 'PUT',
      body: Readable.toWeb(Readable.from(millionLines())) as ReadableStream,
      duplex: 'half',
    });
    assert.equal(put.status, 201);
    const listed = await client.call('list_client_directory', input);
    assert.equal(listed.data?.cut, true, listed.text.slice(0, 500));
    assert.ok(listed.data.entries.length <= 100_000);
    assert.equal((await client.call('guide_cache_file', {})).failed, false);
  });

  it('nothing of all this is in the cache', async () => {
    await using client = await liar({}, {});
    assert.equal((await client.call('guide_cache_file', {})).data?.cache.entries, 0);
  });
});

function* millionLines(): Generator<string> {
  for (let block = 0; block < 1000; block++)
    yield Array.from({ length: 1000 }, (_, at) => `{"path":"${block}/${at}","type":"file"}\n`).join('');
}

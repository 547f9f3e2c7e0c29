import assert from 'node:assert/strict';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import { after, before, describe, it } from 'node:test';
import { patienceMs } from '../../src/platform/eventually.testing.ts';
import { connectByHand } from './by-hand.testing.ts';
import { startServe } from './cli.testing.ts';
import { handshake, openingOf, versions, type Message } from './messages.testing.ts';

const plain = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };

describe('sessions of the older versions over HTTP', () => {
  let server: Awaited<ReturnType<typeof startServe>>;
  before(async () => void (server = await startServe()));
  after(() => server?.[Symbol.asyncDispose]());

  const send = (method: string, headers: Record<string, string>, message?: Message): Promise<Response> =>
    fetch(`${server.url}/mcp`, {
      method,
      headers: { ...plain, ...headers },
      ...(message ? { body: JSON.stringify(message) } : {}),
    });

  async function startSession(): Promise<string> {
    const [initialize, initialized] = handshake('2025-11-25');
    const answer = await send('POST', {}, initialize);
    await answer.body?.cancel();
    const id = answer.headers.get('mcp-session-id')!;
    assert.equal((await send('POST', { 'mcp-session-id': id }, initialized)).status, 202);
    return id;
  }

  const listing = openingOf('2025-11-25').request(7, 'tools/list');

  it('DELETE ends a session, and only that one', async () => {
    const [ended, other] = [await startSession(), await startSession()];
    assert.equal((await send('DELETE', { 'mcp-session-id': ended })).status, 200);
    assert.equal((await send('POST', { 'mcp-session-id': ended }, listing)).status, 404);
    assert.equal((await send('POST', { 'mcp-session-id': other }, listing)).status, 200);
  });

  for (const [method, message] of [['POST', listing], ['GET'], ['DELETE']] as const)
    it(`${method} with a session id that is not known answers 404`, async () => {
      const answer = await send(method, { 'mcp-session-id': crypto.randomUUID() }, message);
      assert.equal(answer.status, 404);
      assert.match(await answer.text(), /Session not found/);
    });

  it('a request without a session that is no handshake answers 400', async () => {
    assert.equal((await send('POST', {}, listing)).status, 400);
    assert.equal((await send('GET', {})).status, 400);
  });

  for (const version of ['2025-11-25', '2025-06-18'] as const)
    it(`the stream of a call that is cancelled ends, and the session goes on, with MCP ${version}`, async () => {
      const client = await connectByHand(server.url, version, { elicitation: { form: {} } });
      const { request } = openingOf(version);
      const params = { name: 'read_client_file', arguments: { path: 'docs/a.txt', via: 'form' } };
      const called = await client.send(request(5, 'tools/call', params), AbortSignal.timeout(patienceMs));
      let came = '';
      for await (const text of called.body!.pipeThrough(new TextDecoderStream())) {
        const isAsked = !came.includes('elicitation/create') && text.includes('elicitation/create');
        came += text;
        if (isAsked) await client.send(cancelling(5));
      }
      assert.match(came, /"id":5,"error":\{"code":-32800/);
      const { last } = await client.call('list_files', {});
      assert.equal(last['result']?.isError, undefined, JSON.stringify(last));
      // What has been answered, or never came, has no stream to end.
      for (const id of [5, 99]) assert.equal((await client.send(cancelling(id))).status, 202);
    });

  const idsIn = (stream: string): string[] => [...stream.matchAll(/^id: (.+)$/gm)].map(([, id]) => id!);

  /** Asks for what came after an event, in the session of an answer. */
  const resume = (answer: Response, id: string): Promise<Response> =>
    send('GET', { 'mcp-session-id': answer.headers.get('mcp-session-id')!, 'last-event-id': id });

  it('an answer that is alone on its stream has no id, so that older SDKs do not come back to it', async () => {
    const client = await connectByHand(server.url, '2025-06-18', {});
    const answer = await client.send(listing);
    assert.deepEqual(idsIn(await answer.text()), []);
  });

  it('who lost a stream gets the answer, and who has the answer is told that nothing follows', async () => {
    const client = await connectByHand(server.url, '2025-11-25', {});
    const answer = await client.send(listing);
    const [first, last, ...more] = idsIn(await answer.text());
    assert.deepEqual(more, []);
    const replayed = await resume(answer, first!);
    assert.match(await replayed.text(), new RegExp(`^id: ${last}\ndata: .*"id":7`, 'm'));
    assert.equal((await resume(answer, last!)).status, 204);
    assert.equal((await resume(answer, crypto.randomUUID())).status, 400);
  });

  for (const version of versions) {
    const { opening, request } = openingOf(version);
    const first = opening[0] ?? request(1, 'tools/list');
    const modern = { 'mcp-protocol-version': version, 'mcp-method': first.method! };
    const headers = { ...plain, ...(version === '2026-07-28' ? modern : {}) };

    it(`a foreign Host or Origin answers 403 on /mcp, our own 200, with MCP ${version}`, async () => {
      const { host, origin } = new URL(server.url);
      const cases = [
        [{ Host: 'evil.example' }, 403],
        [{ Host: host, Origin: 'https://evil.example' }, 403],
        [{ Host: host, Origin: 'null' }, 403],
        [{ Host: host, Origin: origin }, 200],
        [{ Host: host }, 200],
      ] as const;
      for (const [names, status] of cases)
        assert.equal(await statusOf(`${server.url}/mcp`, { ...headers, ...names }, first), status);
    });
  }
});

const cancelling = (requestId: number): Message => ({
  jsonrpc: '2.0',
  method: 'notifications/cancelled',
  params: { requestId },
});

/** fetch sets Host by itself, so the request is made below it. */
async function statusOf(url: string, headers: Record<string, string>, message: Message): Promise<number> {
  const sent = httpRequest(url, { method: 'POST', headers }).end(JSON.stringify(message));
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  answer.destroy();
  return answer.statusCode!;
}

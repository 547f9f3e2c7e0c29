import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { it } from 'node:test';
import { checkFraming, toRequestHeaders } from './headers.ts';
import { Refusal } from './refusal.ts';

const makeRequest = (rawHeaders: string[], method = 'POST', httpVersion = '1.1'): IncomingMessage =>
  ({ rawHeaders, method, httpVersion }) as IncomingMessage;

it('says in one way where a body ends, or refuses it, whatever a parser lets by', () => {
  const judge = (...headers: string[]) => checkFraming(makeRequest(headers), 100);
  assert.equal(judge('X', 'y'), null);
  assert.equal(judge('transfer-encoding', 'Chunked'), 'chunked');
  assert.deepEqual(judge('Content-Length', '12'), { length: '12' });
  const refused: string[][] = [
    ['Content-Length', '1', 'Transfer-Encoding', 'chunked'],
    ['Content-Length', '1', 'content-length', '1'],
    ['Transfer-Encoding', 'chunked', 'Transfer-Encoding', 'chunked'],
    ['Transfer-Encoding', 'gzip, chunked'],
    ['Transfer-Encoding', ' chunked'],
    ['Content-Length', '+1'],
    ['Content-Length', ''],
    ['Content-Length', '1234567890123456'],
    ['Connection', 'close, content-Length'],
    ['Proxy-Connection', 'host'],
    ['Upgrade', 'websocket'],
  ];
  for (const headers of refused)
    assert.throws(
      () => judge(...headers),
      (error) => error instanceof Refusal && [400, 501].includes(error.status),
      headers.join(' '),
    );
  assert.throws(() => checkFraming(makeRequest(['Transfer-Encoding', 'chunked'], 'POST', '1.0'), 100), {
    status: 400,
  });
  assert.throws(() => checkFraming(makeRequest(['A', 'b', 'A', 'b']), 1), { status: 431 });
});

it('what goes out has our Host, our framing, and no body that is not announced', () => {
  const origin = { scheme: 'http', host: 'example.org', port: 8080 } as const;
  const headers = ['host', 'other', 'content-length', '3', 'X', 'y', 'Expect', '100-continue'];
  assert.deepEqual(toRequestHeaders(makeRequest(headers), origin, { length: '3' }, [], 'close'), [
    'Host',
    'example.org:8080',
    'X',
    'y',
    'Content-Length',
    '3',
    'Connection',
    'close',
  ]);
  const none = toRequestHeaders(makeRequest([], 'PUT'), { ...origin, port: 80 }, null, [], 'keep-alive');
  assert.deepEqual(none, ['Host', 'example.org', 'Content-Length', '0', 'Connection', 'keep-alive']);
});

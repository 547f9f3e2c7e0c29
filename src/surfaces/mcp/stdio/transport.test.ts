import assert from 'node:assert/strict';
import { once } from 'node:events';
import { PassThrough, Writable } from 'node:stream';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import { createLog } from '../../../platform/observability/log.ts';
import { createStdioTransport } from './transport.ts';

async function start(output: Writable) {
  const input = new PassThrough();
  const logged: string[] = [];
  const log = createLog('debug', (line) => void logged.push(line));
  const transport = createStdioTransport({ input, output, log });
  const came: JSONRPCMessage[] = [];
  const closed = Promise.withResolvers<void>();
  transport.onmessage = (message) => void came.push(message);
  transport.onclose = closed.resolve;
  await transport.start();
  return { input, transport, came, logged, closed: closed.promise };
}

const ping = { jsonrpc: '2.0', id: 1, method: 'ping' } as const;

/** What is passed on, and what is answered, of some text that comes. */
async function exchange(text: string) {
  const output = new PassThrough();
  const { input, came, logged, closed } = await start(output);
  let written = '';
  output.on('data', (chunk) => (written += String(chunk)));
  input.end(text);
  await closed;
  await turn();
  const answers = written.split('\n').slice(0, -1);
  const read = answers.map((line) => JSON.parse(line) as { id: unknown; error: { code: number } });
  return { came, logged, answers: read.map(({ id, error }) => [id, error.code]) };
}

const misread: Record<string, [line: unknown, id: unknown, code: number]> = {
  'no JSON': ['this is no JSON', null, -32_700],
  'half a message': ['{"jsonrpc":"2.0","id":7,', null, -32_700],
  'params that are a list': [{ ...ping, id: 7, params: [1] }, 7, -32_600],
  'params that are a text': [{ ...ping, id: 'seven', params: 'x' }, 'seven', -32_600],
  'no version of JSON-RPC': [{ id: 7, method: 'ping' }, 7, -32_600],
  'an id that is null': [{ ...ping, id: null }, null, -32_600],
  'an id that is no whole number': [{ ...ping, id: 1.5 }, null, -32_600],
  'an id that is an object': [{ ...ping, id: {} }, null, -32_600],
  'several messages': [[ping, ping], null, -32_600],
  'a number': [5, null, -32_600],
  null: [null, null, -32_600],
  'more keys than there are': [
    { ...ping, id: 7, ...Object.fromEntries(Array.from({ length: 50_000 }, (_, key) => [`key${key}`, 1])) },
    7,
    -32_600,
  ],
};

describe('a line over stdio that is no message', () => {
  for (const [what, [line, id, code]] of Object.entries(misread))
    it(`${what} is answered with an error, logged in short, and the next is read`, async () => {
      const text = typeof line === 'string' ? line : JSON.stringify(line);
      const { came, answers, logged } = await exchange(`${text}\n${JSON.stringify(ping)}\n`);
      assert.deepEqual(answers, [[id, code]]);
      assert.deepEqual(came, [ping]);
      assert.equal(logged.length, 1);
      assert.ok(logged[0]!.length < 300, logged[0]!.slice(0, 400));
    });

  it('an answer that is none ends the question that it answers', async () => {
    const { came, answers } = await exchange('{"jsonrpc":"2.0","id":3,"result":5}\n');
    assert.deepEqual(answers, []);
    const [failure] = came as { id: number; error: { code: number } }[];
    assert.deepEqual([failure!.id, failure!.error.code], [3, -32_600]);
  });
});

it('a byte order mark, blank lines and other ends of lines do no harm', async () => {
  const { came, answers } = await exchange(
    `\uFEFF${JSON.stringify(ping)}\r\n\n  \n${JSON.stringify(ping)}\n`,
  );
  assert.deepEqual(came, [ping, ping]);
  assert.deepEqual(answers, []);
});

it('a message that is nested deeply, or has too many keys, is refused under its id', async () => {
  const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
  const { came, answers } = await exchange(
    `${deep}\n{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":${deep}}}\n`,
  );
  assert.equal(came.length, 0);
  assert.deepEqual(answers, [
    [null, -32_600],
    [1, -32_600],
  ]);
});

it('while nobody takes what is written nothing more is read out, but the end of what comes is seen', async () => {
  const taken: (() => void)[] = [];
  const output = new Writable({
    highWaterMark: 1,
    write: (_chunk, _encoding, done) => void taken.push(done),
  });
  const { input, transport, came, closed } = await start(output);
  const sent = transport.send(ping);
  const ended = once(input, 'end');
  input.end(`${JSON.stringify(ping)}\n`);
  await ended;
  for (let turns = 0; turns < 10; turns++) await turn();
  assert.deepEqual(came, []);
  taken.pop()!();
  await sent;
  await closed;
  assert.deepEqual(came, [ping]);
});

it('many messages that wait to be taken are no cause for a warning', async () => {
  const output = new Writable({ highWaterMark: 1, write: () => {} });
  const { transport } = await start(output);
  for (let count = 0; count < 20; count++) void transport.send(ping);
  assert.ok(output.listenerCount('error') < 10);
  assert.ok(output.listenerCount('drain') < 10);
});

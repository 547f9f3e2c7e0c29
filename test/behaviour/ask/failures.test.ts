import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { failureRules, type FailureClass } from '../../../packages/ask/failure.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { useAgent } from './agent.testing.ts';
import { call, openStream, refuse, say, toChunk, toEvent, type Reaction } from './endpoint.testing.ts';

const agent = useAgent();

interface Failing {
  readonly what: string;
  readonly reaction: Reaction;
  readonly failure: FailureClass;
  /** How often the endpoint is asked in all. */
  readonly requests: number;
}

const hang: Reaction = () => {};
const html: Reaction = (response) =>
  response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>Hello</title>');

const halfStream: Reaction = (response) =>
  void openStream(response).end(toEvent(toChunk({ role: 'assistant', content: 'It is' })));

const cutConnection: Reaction = (response) =>
  void openStream(response).write(toEvent(toChunk({ content: 'It is' })), () => response.destroy());

/** As fast as it is taken. */
const endless =
  (piece: string): Reaction =>
  async (response) => {
    openStream(response);
    while (!response.destroyed) {
      response.write(piece);
      await turn();
    }
  };

/** Classes that are not about the endpoint: `malformed.test.ts` and `command.test.ts` have them. */
const elsewhere: readonly FailureClass[] = ['malformed_call', 'steps_used', 'server_lost', 'cancelled'];

const failing: readonly Failing[] = [
  {
    what: 'a temperature that is not the cause',
    reaction: refuse(400, { message: 'No temperature is supported' }),
    failure: 'bad_temperature',
    requests: 2,
  },
  {
    what: 'a wrong key',
    reaction: refuse(401, { message: 'Incorrect API key' }),
    failure: 'auth',
    requests: 1,
  },
  {
    what: 'a key that may not',
    reaction: refuse(403, { message: 'Forbidden' }),
    failure: 'auth',
    requests: 1,
  },
  {
    what: 'an empty account',
    reaction: refuse(429, { message: 'You exceeded your quota', code: 'insufficient_quota' }),
    failure: 'quota',
    requests: 1,
  },
  { what: 'a bill', reaction: refuse(402, { message: 'Payment required' }), failure: 'quota', requests: 1 },
  {
    what: 'a rate limit that does not end',
    reaction: refuse(429, { message: 'Slow down' }, { 'retry-after': '0' }),
    failure: 'rate_limit',
    requests: 4,
  },
  {
    what: 'a rate limit that asks for an hour',
    reaction: refuse(429, { message: 'Slow down' }, { 'retry-after': '3600' }),
    failure: 'rate_limit',
    requests: 1,
  },
  {
    what: 'a context that is too long even when it is cut',
    reaction: refuse(400, { message: 'maximum context length is 4096', code: 'context_length_exceeded' }),
    failure: 'context_too_long',
    requests: 2,
  },
  {
    what: 'a content filter',
    reaction: refuse(400, { message: 'Refused by our content policy', code: 'content_filter' }),
    failure: 'content_filter',
    requests: 1,
  },
  {
    what: 'a content filter within the answer',
    reaction: (response) =>
      void openStream(response).end(toEvent(toChunk({ content: '' }, 'content_filter'))),
    failure: 'content_filter',
    requests: 1,
  },
  { what: 'a status of 500', reaction: refuse(500, 'oops'), failure: 'overloaded', requests: 4 },
  { what: 'a status of 503', reaction: refuse(503, { message: 'busy' }), failure: 'overloaded', requests: 4 },
  {
    what: 'a status of 529',
    reaction: refuse(529, { message: 'overloaded' }),
    failure: 'overloaded',
    requests: 4,
  },
  {
    what: 'an error within the stream',
    reaction: (response) =>
      void openStream(response).end(toEvent({ error: { message: 'overloaded', type: 'server_error' } })),
    failure: 'overloaded',
    requests: 4,
  },
  { what: 'an endpoint that hangs', reaction: hang, failure: 'timeout', requests: 2 },
  {
    what: 'an endpoint that hangs in the middle',
    reaction: (response) => void openStream(response).write(toEvent(toChunk({ content: 'It' }))),
    failure: 'timeout',
    requests: 2,
  },
  {
    what: 'a schema that it does not take',
    reaction: refuse(400, { message: 'Invalid schema for function list_files' }),
    failure: 'bad_tools',
    requests: 2,
  },
  {
    what: 'a model that it does not have',
    reaction: refuse(404, { message: 'The model scripted does not exist', code: 'model_not_found' }),
    failure: 'bad_model',
    requests: 1,
  },
  { what: 'a wrong path', reaction: refuse(404, 'Not Found'), failure: 'bad_endpoint', requests: 1 },
  { what: 'HTML instead of JSON', reaction: html, failure: 'bad_endpoint', requests: 1 },
  {
    what: 'a redirect',
    reaction: refuse(302, '', { location: 'http://127.0.0.1:1/' }),
    failure: 'bad_endpoint',
    requests: 1,
  },
  {
    what: 'a request that it refuses',
    reaction: refuse(400, { message: 'Something else' }),
    failure: 'bad_request',
    requests: 1,
  },
  { what: 'half a stream', reaction: halfStream, failure: 'broken_answer', requests: 3 },
  { what: 'a connection that breaks', reaction: cutConnection, failure: 'network', requests: 4 },
  {
    what: 'an event that is no JSON',
    reaction: (response) => void openStream(response).end('data: {"choices": [\n\n'),
    failure: 'broken_answer',
    requests: 3,
  },
  {
    what: 'JSON of another shape',
    reaction: (response) => void openStream(response).end(toEvent({ hello: [1, 2] })),
    failure: 'broken_answer',
    requests: 3,
  },
  { what: 'nothing at all', reaction: say(''), failure: 'broken_answer', requests: 3 },
  {
    what: 'a stream without an end',
    reaction: endless(toEvent(toChunk({ content: 'and so on '.repeat(1000) }))),
    failure: 'answer_too_long',
    requests: 1,
  },
  {
    what: 'an answer of a gigabyte in one line',
    reaction: endless('x'.repeat(1024 ** 2)),
    failure: 'answer_too_long',
    requests: 1,
  },
];

describe('an endpoint that fails every time', () => {
  const seen = new Set<FailureClass>(elsewhere);

  for (const { what, reaction, failure, requests } of failing)
    it(`${what} is ${failure}, with a remedy, after ${requests} requests`, async () => {
      const result = await agent.ask([reaction], { silenceMs: failure === 'timeout' ? 300 : 60_000 });
      assert.ok(result.failure !== null);
      assert.equal(result.failure.class, failure, result.failure.message);
      assert.match(result.failure.remedy, /^[A-Z].+\.$/);
      assert.equal(result.endpoint.requests.length, requests);
      assert.equal(result.answer, null);
      seen.add(failure);
    });

  it('nobody there is network, with a remedy', async () => {
    const server = agent.agentServer();
    const { failure } = await agent.ask([(response) => response.destroy()], { server });
    assert.equal(failure?.class, 'network');
    assert.match(failure!.remedy, /--endpoint/);
  });

  it('every class of failures was seen', () => {
    assert.deepEqual(Object.keys(failureRules).toSorted(), [...seen].toSorted());
    recordProof('F2:each-class-has-a-remedy');
  });
});

describe('an endpoint that fails once', () => {
  const transient: readonly [string, Reaction][] = [
    ['a rate limit', refuse(429, { message: 'Slow down' }, { 'retry-after-ms': '5' })],
    ['an overload', refuse(503, { message: 'busy' })],
    ['a silence', hang],
    ['half a stream', halfStream],
    ['a broken connection', cutConnection],
  ];
  for (const [what, reaction] of transient)
    it(`after ${what} the same step is asked again`, async () => {
      const result = await agent.ask([reaction, call('list_files'), say('None.')], { silenceMs: 3000 });
      assert.equal(result.answer, 'None.');
      assert.deepEqual(result.endpoint.requests[0], result.endpoint.requests[1]);
      assert.equal(result.events.filter(({ type }) => type === 'retry').length, 1);
      assert.equal(result.steps.length, 2);
      recordProof('F2:provider-errors-retried-by-class');
    });

  it('a schema that is refused is sent with plain keywords, for the rest of the request', async () => {
    const refused = refuse(400, { message: 'Unsupported keyword in tools[0].function.parameters' });
    const result = await agent.ask([refused, call('list_files', { limit: 1 }), say('Done.')]);
    const [first, second, third] = result.endpoint.requests;
    const sizes = [first, second, third].map((one) => JSON.stringify(one!.tools).length);
    assert.ok(sizes[0]! > sizes[1]!, String(sizes));
    assert.equal(sizes[1], sizes[2]);
    assert.doesNotMatch(JSON.stringify(second!.tools), /"additionalProperties"|"\$schema"|"anyOf"/);
    assert.equal(result.answer, 'Done.');
  });

  it('a temperature that is refused is left out', async () => {
    const refused = refuse(400, { message: "Unsupported value: 'temperature' does not support 0.7" });
    const { endpoint, answer } = await agent.ask([refused, say('Done.')]);
    assert.deepEqual(
      endpoint.requests.map(({ temperature }) => temperature),
      [0.7, undefined],
    );
    assert.equal(answer, 'Done.');
  });

  it('where the conversation is too long, the results of earlier calls are cut', async () => {
    const tooLong = refuse(400, { message: 'too long', code: 'context_length_exceeded' });
    const read = call('read_skill', { name: 'write-report' });
    const result = await agent.ask([read, read, tooLong, say('Done.')]);
    assert.equal(result.answer, 'Done.');
    const lengths = result.endpoint.requests.map(({ messages }) =>
      messages.filter(({ role }) => role === 'tool').map(({ content }) => content!.length),
    );
    const [whole] = lengths[1]!;
    assert.deepEqual(lengths[2], [whole, whole]);
    assert.ok(whole! > 1000 && lengths[3]![0]! < 600, String(lengths));
    assert.equal(lengths[3]![1], whole, 'the last one is what the next step is about');
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { useAgent, type Asked } from './agent.testing.ts';
import { call, callRaw, say, type Reaction } from './endpoint.testing.ts';

const agent = useAgent();

const makeFunction = (name: string, text: string): object => ({ function: { name, arguments: text } });
const notJson = callRaw({ id: 'a', ...makeFunction('list_files', '{"limit": 1') });

const manyArguments = JSON.stringify(
  Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`key${at}`, at])),
);

const malformed: readonly { what: string; reaction: Reaction; problem: RegExp }[] = [
  { what: 'arguments that are no JSON', reaction: notJson, problem: /list_files cannot be used.*JSON/ },
  {
    what: 'a tool that does not exist',
    reaction: callRaw({ id: 'a', ...makeFunction('lst_files', '{}') }),
    problem: /no tool lst_files\. Did you mean list_files\?/,
  },
  {
    what: 'arguments that do not fit',
    reaction: callRaw({ id: 'a', ...makeFunction('list_files', '{"limit":"many"}') }),
    problem: /list_files cannot be used: .*limit/,
  },
  {
    what: 'a list instead of arguments',
    reaction: callRaw({ id: 'a', ...makeFunction('list_files', '[1]') }),
    problem: /no JSON object/,
  },
  {
    what: '10,000 arguments',
    reaction: callRaw({ id: 'a', ...makeFunction('list_files', manyArguments) }),
    problem: /list_files cannot be used: .{1,400}$/,
  },
  {
    what: 'a call without a name',
    reaction: callRaw({ id: 'a', function: { arguments: '{}' } }),
    problem: /without the name of a tool/,
  },
  {
    what: 'a name of an object of JavaScript',
    reaction: callRaw({ id: 'a', ...makeFunction('__proto__', '{}') }),
    problem: /no tool __proto__/,
  },
];

const temperatures = ({ endpoint }: Asked): unknown[] => endpoint.requests.map((one) => one.temperature);
const lastMessage = ({ endpoint }: Asked, at: number) => endpoint.requests[at]!.messages.at(-1)!;

describe('a malformed call', () => {
  for (const { what, reaction, problem } of malformed)
    it(`${what}: it is told, and asked again a tenth warmer`, async () => {
      const result = await agent.ask([reaction, call('list_files'), say('None.')]);
      assert.equal(result.answer, 'None.');
      assert.match(result.steps[0]!.malformed!, problem);
      assert.ok(lastMessage(result, 1).content!.startsWith(result.steps[0]!.malformed!));
      assert.deepEqual(temperatures(result), [0.7, 0.8, 0.7]);
      assert.deepEqual(
        result.steps[1]!.calls.map(({ outcome }) => outcome),
        ['ok'],
      );
      // Nothing of the malformed call is sent back: some endpoints refuse it.
      assert.ok(result.endpoint.requests[1]!.messages.every(({ tool_calls }) => tool_calls === undefined));
      recordProof('F2:retried-warmer');
    });

  it('every time: four steps, then four more with the request in other words, then it fails with a remedy', async () => {
    const result = await agent.ask([notJson]);
    assert.equal(result.failure?.class, 'malformed_call');
    assert.match(result.failure!.remedy, /--model/);
    assert.deepEqual(temperatures(result), [0.7, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8]);
    const notes = result.endpoint.requests.map(({ messages }) => messages.length);
    assert.deepEqual(new Set(notes.slice(1)), new Set([3]), 'the conversation does not grow');
    const first = lastMessage(result, 4).content!;
    const second = lastMessage(result, 5).content!;
    assert.doesNotMatch(first, /Which files are there\?/);
    assert.match(second, /another way.*Which files are there\?.*list_files takes: \{/s);
    recordProof('F2:at-most-four-steps', 'F2:second-time-rephrased');
  });

  it('in the second attempt a good call goes on at the usual temperature', async () => {
    const wrong = Array.from({ length: 5 }, () => notJson);
    const result = await agent.ask([...wrong, call('list_files'), say('None.')]);
    assert.equal(result.answer, 'None.');
    assert.deepEqual(temperatures(result).slice(-2), [0.8, 0.7]);
  });

  it('never warmer than 1.0', async () => {
    const result = await agent.ask([notJson], { temperature: 0.95 });
    assert.deepEqual(new Set(temperatures(result)), new Set([0.95, 1]));
    recordProof('F2:never-warmer-than-one');
  });

  it('beside good calls: those are made once, and only the other is asked for again', async () => {
    const both = callRaw(
      { id: 'a', ...makeFunction('list_files', '{}') },
      { id: 'b', ...makeFunction('list_files', '{{') },
    );
    const result = await agent.ask([both, say('Done.')]);
    assert.equal(result.steps[0]!.calls.length, 1);
    const roles = result.endpoint.requests[1]!.messages.map(({ role }) => role);
    assert.deepEqual(roles, ['system', 'user', 'assistant', 'tool', 'user']);
    assert.equal(result.answer, 'Done.');
  });
});

describe('ids of calls', () => {
  const strange: readonly [string, readonly unknown[]][] = [
    ['the same twice', ['same', 'same']],
    ['none', [undefined, undefined]],
    ['empty', ['', '']],
    ['very long', ['x'.repeat(100_000), 'y'.repeat(100_000)]],
  ];
  for (const [what, ids] of strange)
    it(`${what}: each result goes back to its own call`, async () => {
      const calls = ids.map((id) => ({ id, ...makeFunction('list_files', '{}') }));
      const result = await agent.ask([callRaw(...calls), say('Done.')]);
      assert.equal(result.answer, 'Done.');
      const { messages } = result.endpoint.requests[1]!;
      const asked = messages.flatMap(({ tool_calls = [] }) => tool_calls.map(({ id }) => id));
      const answered = messages.filter(({ role }) => role === 'tool').map((one) => one.tool_call_id);
      assert.equal(new Set(asked).size, 2);
      assert.deepEqual(answered, asked);
    });
});

describe('limits', () => {
  it('a model that never ends is stopped after its steps, with a remedy', async () => {
    const result = await agent.ask([call('list_files')], { maxSteps: 3 });
    assert.equal(result.failure?.class, 'steps_used');
    assert.match(result.failure!.remedy, /--steps/);
    assert.equal(result.endpoint.requests.length, 3);
    recordProof('F5:bounded-steps');
  });

  it('of a thousand calls at once the first 32 are made, and the others are told', async () => {
    const calls = Array.from({ length: 1000 }, (_, at) => ({
      id: `c${at}`,
      ...makeFunction('list_files', '{}'),
    }));
    const result = await agent.ask([callRaw(...calls), say('Done.')]);
    const outcomes = result.steps[0]!.calls.map(({ outcome }) => outcome);
    assert.equal(outcomes.filter((one) => one === 'ok').length, 32);
    assert.equal(outcomes.filter((one) => one === 'refused').length, 968);
  });

  it('tokens are counted for each step and in all, those of malformed calls too', async () => {
    const result = await agent.ask([call('list_files'), call('list_files'), say('Done.')]);
    assert.deepEqual(
      result.steps.map(({ tokens }) => tokens),
      Array.from({ length: 3 }, () => ({ input: 1, output: 1 })),
    );
    assert.deepEqual(result.tokens, { input: 3, output: 3 });
    const untold = await agent.ask([notJson, say('Done.')]);
    assert.deepEqual(untold.steps[0]!.tokens, { input: null, output: null });
    assert.deepEqual(untold.tokens, { input: null, output: null });
    recordProof('F5:tokens-told');
  });
});

describe('sensitive calls', () => {
  it('are made only where they are approved, and the model is told', async () => {
    const asked: string[] = [];
    const approve = async ({ name }: { name: string }): Promise<boolean> => {
      asked.push(name);
      return false;
    };
    const wanted = [call('list_files'), call('delete_file', { file_id: 'file_1' }), say('Not allowed.')];
    const result = await agent.ask(wanted, { approve });
    assert.deepEqual(asked, ['delete_file']);
    assert.equal(result.steps[1]!.calls[0]!.outcome, 'refused');
    assert.match(lastMessage(result, 2).content!, /did not allow this call/);
    recordProof('F5:asks-before-sensitive-calls');
  });
});

describe('cancellation', () => {
  it('ends the request to the model', async () => {
    const stop = new AbortController();
    const { promise: gone, resolve } = Promise.withResolvers<void>();
    const hang: Reaction = (response) => {
      response.on('close', () => resolve());
      stop.abort();
    };
    const result = await agent.ask([hang], { signal: stop.signal });
    assert.equal(result.failure?.class, 'cancelled');
    await gone;
    recordProof('F5:cancelled');
  });
});

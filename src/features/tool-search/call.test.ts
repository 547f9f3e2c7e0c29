import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CallToolResult } from '@modelcontextprotocol/server';
import { isQuestion, type Question, type ToolContext } from '../../core/offer/tool.ts';
import type { Toolbox, ToolDefinition } from '../../core/offer/toolbox.ts';
import { describeArguments, listMisfits } from './arguments.ts';
import { callByName } from './call.ts';

const context = {} as ToolContext;

const definition: ToolDefinition = {
  name: 'maps_find_route',
  server: 'maps',
  nameThere: 'find_route',
  title: null,
  description: 'Finds a route',
  inputSchema: {
    type: 'object',
    properties: { from: { type: 'string' }, to: { type: 'string' }, by: { enum: ['car', 'foot'] } },
    required: ['from', 'to'],
    additionalProperties: false,
  },
  outputSchema: null,
  annotations: {},
  hash: 'a',
};

/** A server with one tool, which answers in this way. */
const answering = (answer: CallToolResult | Question): Toolbox => ({
  list: async () => [definition],
  has: async (name) => name === definition.name,
  call: async () => answer,
});

const call = (answer: CallToolResult | Question, given: Record<string, unknown> = { from: 'a', to: 'b' }) =>
  callByName(answering(answer), definition.name, given, context);

describe('a tool of another server that is called by name', () => {
  it('answers with all of its texts, its pictures and its links', async () => {
    const picture = { type: 'image' as const, data: 'AA==', mimeType: 'image/png' };
    const answer = await call({
      content: [
        { type: 'text', text: 'one' },
        picture,
        { type: 'text', text: 'two' },
        { type: 'resource_link', uri: 'https://maps.test/1', name: 'the map' },
      ],
      structuredContent: { km: 3 },
    });
    assert.ok(!isQuestion(answer));
    assert.equal(answer.text, 'one\ntwo\nLink to "the map": "https://maps.test/1"');
    assert.deepEqual(answer.structured, { tool: 'maps_find_route', server: 'maps', result: { km: 3 } });
    assert.deepEqual(answer.content?.[0], picture);
  });

  it('an answer without a text says so', async () => {
    const answer = await call({ content: [] });
    assert.ok(!isQuestion(answer) && /nothing/.test(answer.text));
  });

  it('a question is passed on as it is', async () => {
    const question: Question = { ask: {}, state: { round: 1 } };
    assert.equal(await call(question), question);
  });

  it('a failure is an error with its text, and with the remedy where the arguments do not fit', async () => {
    const failed: CallToolResult = {
      isError: true,
      content: [{ type: 'text', text: 'no such place' }],
      // Another server has no say in what our codes are.
      _meta: { 'workcrate/error': { code: 'unauthorized' } },
    };
    await assert.rejects(call(failed), {
      code: 'tool_failed',
      message: 'no such place',
      details: { server: 'maps', tool: 'find_route' },
    });
    await assert.rejects(call(failed, { form: 'a', to: 'b' }), {
      code: 'tool_failed',
      message:
        'no such place\nIn the arguments, from is missing, there is no form (did you mean from?). maps_find_route takes: from: string, to: string, by?: car | foot',
    });
  });

  it('a name that nobody has is not found, and what is near it is told', async () => {
    await assert.rejects(callByName(answering({ content: [] }), 'find route', {}, context), {
      code: 'not_found',
      message: /maps_find_route/,
    });
  });
});

describe('what a tool takes', () => {
  it('is one line, whatever its schema', () => {
    const described = describeArguments({
      properties: {
        tags: { type: 'array', items: { type: 'string' } },
        when: { anyOf: [{ type: 'string' }, { type: 'null' }] },
        'a\nb': { type: ['string', 'x\ny'] },
        any: {},
      },
      required: ['any'],
    });
    assert.equal(
      described,
      String.raw`any: any, tags?: list of string, when?: string | null, "a\nb"?: string | "x\ny"`,
    );
    assert.equal(describeArguments(null), 'none');
    const many = Object.fromEntries(Array.from({ length: 99 }, (_, at) => [`a${at}`, {}]));
    assert.match(describeArguments({ properties: many }), /and 69 more$/);
  });

  it('names that objects inherit are neither known nor given', () => {
    const schema = { properties: {}, required: ['constructor'], additionalProperties: false };
    assert.deepEqual(listMisfits(schema, { toString: 1 }), [
      'constructor is missing',
      'there is no toString',
    ]);
  });
});

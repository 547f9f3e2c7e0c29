import assert from 'node:assert/strict';
import { it } from 'node:test';
import { toolShape, toToolArguments } from './tool-arguments.ts';

const tool = toolShape.parse({
  name: 'measure',
  description: 'Measures.',
  inputSchema: {
    type: 'object',
    properties: {
      text: { type: 'string' },
      count: { type: 'integer', description: 'How many' },
      exact: { type: 'boolean' },
      ids: { type: 'array', items: { type: 'string' } },
      sizes: { type: 'array', items: { type: 'number' } },
      where: { type: 'object' },
      kind: { enum: ['a', 'b'] },
      since: { anyOf: [{ type: 'string' }, { type: 'null' }] },
      limit: { type: ['number', 'null'] },
      either: { anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] },
      anything: {},
    },
    required: [],
  },
});

const toArguments = (...words: string[]) =>
  toToolArguments(tool, words, (reference) => Promise.resolve(`read ${reference}`));

const values: [string, unknown][] = [
  ['text=a=b', 'a=b'],
  ['text=', ''],
  ['text=42', '42'],
  ['text=[1]', '[1]'],
  ['text=two\nlines', 'two\nlines'],
  ['text=@main.py', 'read @main.py'],
  ['text=-', 'read -'],
  ['text=@@ada', '@ada'],
  ['count=-3', -3],
  ['exact=false', false],
  ['ids=one', ['one']],
  ['ids=["a","b,c"]', ['a', 'b,c']],
  ['sizes=1.5', [1.5]],
  ['where={"a":{"b":[true]}}', { a: { b: [true] } }],
  ['kind=b', 'b'],
  ['since=null', 'null'],
  ['limit=null', null],
  ['limit=7', 7],
  ['either=x', 'x'],
  ['either=["x"]', ['x']],
  ['anything=7', '7'],
];

for (const [word, value] of values)
  it(`${JSON.stringify(word)} becomes ${JSON.stringify(value)}`, async () => {
    assert.deepEqual(Object.values(await toArguments(word)), [value]);
  });

it('a key of a list that is given several times has all its values', async () => {
  assert.deepEqual(await toArguments('ids=a', 'ids=b', 'ids=["c"]', 'count=1', 'count=2'), {
    ids: ['a', 'b', 'c'],
    count: 2,
  });
});

const mistakes: [string, RegExp][] = [
  ['txet=x', /^measure has no key "txet"\. Did you mean text\? It takes text, count,.* See .*call --help\.$/],
  ['constructor=x', /^measure has no key "constructor"/],
  ['__proto__=x', /^measure has no key "__proto__"/],
  ['text', /^"text" is no key=value/],
  ['=x', /^"=x" is no key=value/],
  ['count=many', /^measure count takes integer, not "many"/],
  ['count=', /^measure count takes integer, not ""/],
  ['exact=yes', /^measure exact takes boolean, not "yes"/],
  ['where={', /^measure where is no JSON: /],
];

for (const [word, message] of mistakes)
  it(`${JSON.stringify(word)} is refused with what to do`, async () => {
    await assert.rejects(toArguments(word), { code: 'config_invalid', message });
  });

it('a key that is missing is named, with all keys of the tool', async () => {
  const strict = { ...tool, inputSchema: { ...tool.inputSchema, required: ['text', 'count'] } };
  await assert.rejects(
    toToolArguments(strict, ['text=x'], () => Promise.resolve('')),
    /^WorkcrateError: measure needs count\. Its keys:\n {2}text=string\n {2}count=integer {2}How many\n {2}\[exact=boolean\]\n/,
  );
});

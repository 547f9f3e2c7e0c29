import assert from 'node:assert/strict';
import { it } from 'node:test';
import { z } from 'zod';
import { hideArguments, listAs, makeText, makeWholeNumber } from './schema.ts';

const list = (schema: z.ZodType): unknown => {
  const { $schema: _dialect, ...json } = z.toJSONSchema(schema, { io: 'input' });
  return json;
};

it('bounds are checked and not listed', () => {
  const text = z.strictObject({
    name: makeText(3, 'Its name'),
    at: makeWholeNumber(1, 5, 'At most 5').optional(),
  });
  assert.deepEqual(list(text), {
    type: 'object',
    properties: {
      name: { type: 'string', description: 'Its name' },
      at: { type: 'integer', description: 'At most 5' },
    },
    required: ['name'],
    additionalProperties: false,
  });
  assert.deepEqual(text.parse({ name: 'abc', at: 5 }), { name: 'abc', at: 5 });
  for (const wrong of [{ name: '' }, { name: 'abcd' }, { name: 'a', at: 6 }, { name: 'a', at: 0.5 }])
    assert.equal(text.safeParse(wrong).success, false);
});

it('what is listed as something else keeps its checks and its default', () => {
  const shared = z.number().int().max(9).default(4);
  const listed = z.strictObject({ limit: listAs(shared, { type: 'integer' }) });
  assert.deepEqual(list(listed), {
    type: 'object',
    properties: { limit: { type: 'integer' } },
    additionalProperties: false,
  });
  assert.deepEqual(listed.parse({}), { limit: 4 });
  assert.equal(listed.safeParse({ limit: 10 }).success, false);
  assert.equal((list(shared) as { default?: number }).default, 4);
});

it('a hidden argument is taken, and an unknown one is not', () => {
  const shape = hideArguments(z.strictObject({ a: z.string(), old: z.string().optional() }), ['old']);
  assert.deepEqual(Object.keys((list(shape) as { properties: object }).properties), ['a']);
  assert.deepEqual(shape.parse({ a: '1', old: '2' }), { a: '1', old: '2' });
  assert.equal(shape.safeParse({ a: '1', other: '2' }).success, false);
});

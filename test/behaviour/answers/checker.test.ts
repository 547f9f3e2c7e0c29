import assert from 'node:assert/strict';
import { it } from 'node:test';
import { z } from 'zod';
import { listUnsaid } from './complete.testing.ts';
import { listFacts, listShowable, toShown, type JsonSchema } from './facts.testing.ts';

const shape = z.object({
  name: z.string(),
  size: z.number(),
  state: z.enum(['new', 'old']),
  isBroken: z.boolean(),
  until: z.string().nullable(),
  parts: z.array(z.object({ id: z.string() })),
  counts: z.record(z.string(), z.number()),
});
const schema = z.toJSONSchema(shape) as JsonSchema;

const value = {
  name: 'a "b".txt',
  size: 2048,
  state: 'new',
  isBroken: null,
  until: '2026-05-04T12:34:56.789Z',
  parts: [{ id: 'part_17' }],
  counts: { red: 3 },
};
const text = String.raw`"a \"b\".txt", 2 KB, new, until 2026-05-04T12:34Z: part_17, red 3`;

const unsaidIn = (said: string, changed: object = {}): string[] =>
  listUnsaid(schema, { tool: 'none', structured: { ...value, ...changed }, text: said }).map(
    ({ path }) => path,
  );

it('what a text has in the form that people read is said', () => {
  assert.deepEqual(unsaidIn(text), []);
});

it('what a text leaves out is not said', () => {
  for (const [left, path] of [
    [String.raw`a \"b\".txt`, 'name'],
    ['2 KB', 'size'],
    ['new', 'state'],
    ['2026-05-04T12:34', 'until'],
    ['part_17', 'parts[].id'],
    ['red', 'counts.{}'],
    ['red 3', 'counts.*'],
  ] as const)
    assert.ok(unsaidIn(text.replace(left, '')).includes(path), path);
});

it('a digit of an id or of a longer number is no figure', () => {
  assert.deepEqual(unsaidIn(text.replace('red 3', 'red'), { counts: { red: 17 } }), ['counts.*']);
  assert.deepEqual(unsaidIn(text.replace('red 3', 'red 31'), { counts: { red: 3 } }), ['counts.*']);
});

it('a flag has to have its words in the table', () => {
  assert.deepEqual(unsaidIn(text, { isBroken: false }), ['isBroken']);
  assert.deepEqual(unsaidIn(`${text} true`, { isBroken: true }), ['isBroken']);
});

it('what a schema can show is each path, and each value of which there are few', () => {
  assert.deepEqual(listShowable(schema), [
    'name',
    'size',
    'state = new',
    'state = old',
    'isBroken = true',
    'isBroken = false',
    'until',
    'parts[].id',
    'counts.{}',
    'counts.*',
  ]);
  const empty = { ...value, until: null, parts: [], counts: {}, size: 0 };
  const shown = new Set([...listFacts(schema, empty)].flatMap(toShown));
  for (const path of ['until', 'parts[].id', 'counts.*', 'size', 'state = old'])
    assert.ok(!shown.has(path), path);
});

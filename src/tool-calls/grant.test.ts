import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { ToolAnnotations } from '@modelcontextprotocol/server';
import type { ToolDefinition } from '../mcp/toolbox.ts';
import { grantTools } from './grant.ts';

const define = (name: string, annotations: ToolAnnotations, server = 'play'): ToolDefinition => ({
  name,
  server,
  nameThere: name,
  title: null,
  description: '',
  inputSchema: { type: 'object' },
  outputSchema: null,
  annotations,
  hash: '',
});

const known = [
  define('play_read', { readOnlyHint: true }),
  define('play_look', { readOnlyHint: true, destructiveHint: true }),
  define('play_write', { readOnlyHint: false, destructiveHint: false }),
  define('play_drop', { readOnlyHint: false, destructiveHint: true }),
  define('play_unknown', {}),
  define('execute_code', { readOnlyHint: true }, 'workcrate'),
  define('call_tool', { readOnlyHint: true }, 'workcrate'),
];

const grant = (...wanted: string[]): [string, boolean][] =>
  [...grantTools(wanted, known)].map(([name, { asks }]) => [name, asks]);

it('a pattern grants what only reads, and nothing else', () => {
  const reading: [string, boolean][] = [
    ['play_read', false],
    ['play_look', false],
  ];
  assert.deepEqual(grant('*'), reading);
  assert.deepEqual(grant('play_*'), reading);
  assert.deepEqual(grant('play_????'), reading);
});

it('what does more is granted by its name, and asks unless it says that it destroys nothing', () => {
  assert.deepEqual(grant('play_write', 'play_drop', 'play_unknown'), [
    ['play_write', false],
    ['play_drop', true],
    ['play_unknown', true],
  ]);
});

it('what runs code or calls tools cannot be granted, in no way', () => {
  for (const name of ['execute_code', 'call_tool'])
    assert.throws(() => grant(name), { code: 'invalid_input', message: new RegExp(`cannot call ${name}`) });
  for (const pattern of ['execute_*', 'call_tool*', '?all_tool'])
    assert.throws(() => grant(pattern), { code: 'invalid_input', message: /No tool that code can call/ });
});

it('what grants nothing is an error that says what would', () => {
  assert.throws(() => grant('play_rea'), { code: 'not_found', message: /Did you mean play_read\?/ });
  assert.throws(() => grant('play_d*'), { code: 'invalid_input', message: /has to be named: play_drop/ });
  assert.throws(() => grant('play_read', 'nothing*'), { code: 'invalid_input' });
});

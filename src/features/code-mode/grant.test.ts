import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { ToolAnnotations } from '@modelcontextprotocol/server';
import { ownServer, type ToolDefinition } from '../../core/offer/toolbox.ts';
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
  define('list_own', { readOnlyHint: true }, ownServer),
  define('list_ours', { readOnlyHint: true, destructiveHint: true }, ownServer),
  define('list_less', { readOnlyHint: false, destructiveHint: false }, ownServer),
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
    ['list_own', false],
    ['list_ours', false],
  ];
  assert.deepEqual(grant('*'), reading);
  assert.deepEqual(grant('list_*'), reading);
  assert.deepEqual(grant('list_o??'), reading.slice(0, 1));
});

it('a pattern grants nothing of other servers, whatever these say of themselves', () => {
  assert.throws(() => grant('play_*'), {
    code: 'invalid_input',
    message: /belongs to another server, and has to be named: play_read, play_look/,
  });
  assert.deepEqual(grant('play_read'), [['play_read', false]]);
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

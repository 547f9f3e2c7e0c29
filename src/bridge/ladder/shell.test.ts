import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { quoted } from './shell.ts';

test('E4: sh takes a quoted text for nothing but itself', () => {
  const hostile = [
    "it's",
    "''",
    "'; id; '",
    '$(id)',
    '`id`',
    '$HOME',
    '\\',
    "\\'",
    '"',
    'a\nb',
    '!!',
    '*',
    '-n',
    '%s',
    '~',
  ];
  const command = `printf '%s\\0' ${hostile.map(quoted).join(' ')}`;
  assert.deepEqual(execFileSync('sh', ['-c', command]).toString().split('\0').slice(0, -1), hostile);
});

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { findRefusalSite } from './violations.ts';

const source = (file: string, line: number): string =>
  `${pathToFileURL(join(import.meta.dirname, '../..', file)).href}:${line}:7`;

function errorThrough(...frames: string[]): Error {
  const error = new Error('no');
  error.stack = `Error: no\n${frames.map((frame) => `    at made (${frame})`).join('\n')}`;
  return error;
}

test('where something was refused begins with who refused it, not with what made the error', () => {
  const frames = [
    source('platform/errors.ts', 81),
    source('features/client-files/policy/refusal.ts', 45),
    source('features/client-files/policy/refusal.ts', 40),
    'node:internal/x:1:1',
    source('features/client-files/policy/policy.ts', 41),
    source('platform/paths/faults.ts', 3),
    source('features/client-files/tools/read.ts', 80),
  ];
  assert.equal(
    findRefusalSite(errorThrough(...frames)),
    'src/features/client-files/policy/policy.ts:41 < src/platform/paths/faults.ts:3 < src/features/client-files/tools/read.ts:80',
  );
  assert.equal(findRefusalSite(errorThrough(...frames.slice(0, 1))), 'src/platform/errors.ts:81');
  assert.equal(findRefusalSite(errorThrough('/elsewhere/x.ts:1:1')), '');
});

import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { loadConfig } from '../../server/settings.ts';
import { allSettings } from '../../server/settings.ts';
import { toEnvironmentName } from './setting.ts';
import { findUnknownVariables } from './unknown.ts';

const names = Object.keys(allSettings).map(toEnvironmentName);

it('a misspelt variable is noticed, with the setting that was meant', () => {
  for (const [wrong, meant] of [
    ['WORKCRATE_PROT', 'WORKCRATE_PORT'],
    ['WORKCRATE_FILES_TTL', 'WORKCRATE_FILE_TTL'],
    ['WORKCRATE_LOGLEVEL', 'WORKCRATE_LOG_LEVEL'],
    ['WORKCRATE_S3_BUKCET', 'WORKCRATE_S3_BUCKET'],
    ['WORKCRATE_port', null],
    ['WORKCRATE_SOMETHING_ELSE', null],
  ] as const)
    assert.deepEqual(findUnknownVariables(allSettings, { [wrong]: 'x' }), [
      { variable: wrong, nearest: meant },
    ]);
});

it('settings, their further names and variables of scripts and tests are not taken for mistakes', () => {
  const fine = [...names, 'MCP_PORT', 'AWS_REGION', 'HOME', 'WORKCRATE_CONFIG', 'WORKCRATE_KEY'];
  const ours = ['WORKCRATE_TEST_DATABASE', 'WORKCRATE_NO_INSTALL', 'WORKCRATE_WRITE_SCORECARD'];
  assert.deepEqual(
    findUnknownVariables(allSettings, Object.fromEntries([...fine, ...ours].map((name) => [name, '']))),
    [],
  );
});

it('one letter wrong in any setting is never silent', () => {
  const slip = fc
    .tuple(fc.constantFrom(...names), fc.nat(), fc.constantFrom('X', ''))
    .map(([name, at, letter]) => {
      const place = 'WORKCRATE_'.length + (at % (name.length - 'WORKCRATE_'.length));
      return name.slice(0, place) + letter + name.slice(place + 1);
    });
  const property = fc.property(slip, (wrong) => {
    fc.pre(!names.includes(wrong));
    const [found] = loadConfig({}, { HOME: '/home/me', [wrong]: 'x' }).unknown;
    assert.equal(found?.variable, wrong);
    assert.ok(found.nearest === null || names.includes(found.nearest));
  });
  fc.assert(property, { numRuns: 500 });
});

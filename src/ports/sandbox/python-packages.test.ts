import assert from 'node:assert/strict';
import { test } from 'node:test';
import { debianNames, packageScript, createPackageLookup, parsePackages } from './interpreters.ts';

test('an interpreter tells which packages it has, and is asked once', async () => {
  const ask = createPackageLookup('/usr/bin/python3', '/usr/bin');
  const told = (await ask())!;
  assert.match(told.version, /^3\.\d+$/);
  assert.deepEqual(Object.keys(told.packages), Object.keys(debianNames));
  assert.equal(ask(), ask());
  assert.equal(await createPackageLookup('/nonexistent/python3', '/usr/bin')(), null);
  assert.equal(await createPackageLookup('/bin/true', '/usr/bin')(), null);
});

test('whatever an image prints, only versions come into a description', () => {
  const told = parsePackages(
    'noise\npackages {"version": "3.12", "debian": "yes", "packages": {"numpy": "1.0\\nIgnore all", "pandas": "2.1.0+x", "scipy": 7, "evil": "1"}}\n',
  )!;
  assert.deepEqual([told.version, told.isDebian], ['3.12', false]);
  assert.deepEqual(
    [told.packages['numpy'], told.packages['pandas'], told.packages['scipy'], told.packages['evil']],
    ['', '2.1.0+x', null, undefined],
  );
  for (const text of ['', 'packages {', 'packages {"version": "3.x"}', 'packages {}', 'packages []'])
    assert.equal(parsePackages(text), null, text);
  assert.ok(!packageScript.includes("'"), 'it stands between single quotes');
});

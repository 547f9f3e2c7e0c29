import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { parseEnv } from 'node:util';
import { environmentExample, settingsPage } from '../../scripts/settings-docs.ts';
import { loadConfig } from '../../src/server/settings.ts';
import { allSettings } from '../../src/server/settings.ts';
import { toEnvironmentName } from '../../src/platform/config/setting.ts';

const textOf = (path: string): string => readFileSync(join(import.meta.dirname, '../..', path), 'utf8');
const remedy = 'it is not what the settings give: run node scripts/settings-docs.ts';

it('docs/reference/settings.md is what the settings give', () => {
  assert.equal(textOf('docs/reference/settings.md'), settingsPage(), remedy);
});

it('.env.example is what the settings give', () => {
  assert.equal(textOf('.env.example'), environmentExample(), remedy);
});

it('every setting is in both, and every line of .env.example is commented out', () => {
  const [page, example] = [settingsPage(), environmentExample()];
  for (const name of Object.keys(allSettings).map(toEnvironmentName)) {
    assert.ok(page.includes(`\`${name}\``), name);
    assert.match(example, new RegExp(`^#${name}=`, 'm'));
  }
  assert.deepEqual(Object.keys(parseEnv(example)), []);
});

it('all of .env.example uncommented gives the defaults', () => {
  const written = parseEnv(environmentExample().replaceAll(/^#(WORKCRATE_)/gm, '$1'));
  const home = { HOME: '/home/me' };
  assert.deepEqual(loadConfig({}, { ...home, ...written }).config, loadConfig({}, home).config);
  assert.deepEqual(loadConfig({}, { ...home, ...written }).unknown, []);
});

it('neither holds anything of the machine that it was made on', () => {
  const made = settingsPage() + environmentExample();
  for (const own of [process.cwd(), process.env['HOME'] ?? '/root', process.env['USER'] ?? 'root'])
    if (own.length > 4) assert.ok(!made.includes(own), own);
});

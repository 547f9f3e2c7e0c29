import assert from 'node:assert/strict';
import { globSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { Script, createContext } from 'node:vm';
import { temporaryFolder } from '../../../test/behaviour/cli/program.testing.ts';
import { createBrowserScript } from './browser-script.ts';

const sources = join(import.meta.dirname, '../..');

const loadScript = (file: string) =>
  createBrowserScript(
    { filename: join(file, '../page.ts'), url: pathToFileURL(join(file, '../page.ts')).href },
    basename(file, '.browser.ts'),
  );

/** Writes modules into a folder of their own, and gives what the script of the first one leaves in `result`. */
async function runModules(modules: Readonly<Record<string, string>>): Promise<unknown> {
  await using folder = await temporaryFolder();
  for (const [name, text] of Object.entries(modules)) writeFileSync(join(folder.path, name), text);
  const [entry] = Object.keys(modules);
  const globals = createContext({ result: null });
  new Script(loadScript(join(folder.path, entry!)).text).runInContext(globals);
  return (globals as { result: unknown }).result;
}

for (const file of globSync('**/*.browser.ts', { cwd: sources }))
  test(`${file} is a script that a browser can read`, () => {
    const { text, source } = loadScript(join(sources, file));
    assert.doesNotThrow(() => new Script(text));
    assert.match(text, /^'use strict';/);
    assert.match(source, /^'sha256-/);
  });

test('modules are one script, and each keeps its own names', async () => {
  const result = await runModules({
    'page.browser.ts': `/** Why. */
import { count as countThem, type Named } from './other.browser.ts';
import type { Nobody } from './nobody.ts';
import {
  word,
} from './shared.ts';

const own: Named = { name: 'own' };
// Not in the script.
declare let result: unknown;
result = [own.name, countThem(), word, \`\${word}!\`] satisfies unknown[];
`,
    'other.browser.ts': `import { word } from './shared.ts';
export interface Named { readonly name: string }
const own = 2;
export function count(): string { return own + word; }
`,
    'shared.ts': "export const word = 'things';\n",
  });
  assert.deepEqual([...(result as unknown[])], ['own', '2things', 'things', 'things!']);
});

test('what the script would not be true to is refused', async () => {
  const refused = [
    "import whole from './whole.ts';",
    "import * as all from './all.ts';",
    "import './effect.ts';",
    "import { join } from 'node:path';",
    'export default 1;',
    "export * from './all.ts';",
    'const one = 1;\nexport { one };',
    "const end = '</script>';",
    'const text = `\n  several lines`;',
    "const text = 'two  spaces';",
  ];
  for (const text of refused)
    await assert.rejects(
      runModules({ 'page.browser.ts': `${text}\n` }),
      /no script of a page may have|several lines|Two spaces/,
      text,
    );
});

test('a script is read when it is needed, and once', async () => {
  await using folder = await temporaryFolder();
  const script = loadScript(join(folder.path, 'late.browser.ts'));
  writeFileSync(join(folder.path, 'late.browser.ts'), 'const a: number = 1;\n');
  const { text } = script;
  writeFileSync(join(folder.path, 'late.browser.ts'), 'const b: number = 2;\n');
  assert.equal(script.text, text);
});

import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { built, notYetAskedFor } from './requirements.testing.ts';

const root = join(import.meta.dirname, '..', '..');

it('every requirement that is built is cited by the name of a test', () => {
  const files = globSync('{src,e2e,examples}/**/*.{test,contract}.ts', { cwd: root });
  const names = files.flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/\b(?:it|test|describe)\(\s*[`'"]([^`'"]*)/g)].map(
      ([, name]) => name!,
    ),
  );
  const cited = new Set(names.flatMap((name) => name.match(/\b[A-H]\d{1,2}\b/g) ?? []));
  assert.deepEqual(
    built.filter((id) => !cited.has(id)),
    [],
  );
});

it('every requirement of the specification is known to be built or not yet asked for', (t) => {
  const specification = join(root, '..', 'shared', 'SPEC.md');
  if (!existsSync(specification)) return t.skip('the specification does not stand beside this checkout');
  const ids = [...readFileSync(specification, 'utf8').matchAll(/^\| ([A-H]\d{1,2}) \|/gm)].map(
    ([, id]) => id!,
  );
  assert.deepEqual(ids.toSorted(), [...built, ...notYetAskedFor].toSorted());
});

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { findUnproven } from '../../scripts/proofs.ts';
import { partsNotYetAskedFor, rowsNotYetAskedFor } from '../requirements/requirement-needs.testing.ts';
import { parts, proofsVariable, requirements } from '../requirements/requirements.testing.ts';
import { temporaryFolder } from '../behaviour/cli/program.testing.ts';

const root = join(import.meta.dirname, '../..');
const files = globSync('{src,packages,test,examples}/**/*.{test,contract}.ts', { cwd: root }).map((file) => ({
  file,
  text: readFileSync(join(root, file), 'utf8'),
}));

it('every part of a requirement is recorded by a test; whether that was reached is checked when all tests have run', () => {
  const texts = files.flatMap(({ text }) => text.match(/(?<=['`])[A-K]\d{1,2}:[^'`\s]+(?=['`])/g) ?? []);
  // A test that runs for each version, language or backend records the part of that one.
  const recorded = texts.map((text) => new RegExp(`^${text.replaceAll(/\$\{[^}]*\}/g, '[a-z0-9-]+')}$`));
  assert.deepEqual(
    parts.filter((part) => !recorded.some((pattern) => pattern.test(part))),
    [],
  );
});

it('no test claims a requirement by its name alone', () => {
  const byName = files.flatMap(({ file, text }) =>
    [...text.matchAll(/(?<=['"`])[A-K]\d{1,2}(?:(?:, | and )[A-K]\d{1,2})*: [^'"`]*/g)].map(
      ([name]) => `${file}: ${name}`,
    ),
  );
  assert.deepEqual(byName, []);
});

it('every row of the specification is known to be built or not yet asked for', (t) => {
  const specification = join(root, '..', 'shared', 'SPEC.md');
  if (!existsSync(specification)) return t.skip('the specification is not beside this checkout');
  const ids = [...readFileSync(specification, 'utf8').matchAll(/^\| ([A-K]\d{1,2}) \|/gm)].map(
    ([, id]) => id!,
  );
  assert.deepEqual(ids.toSorted(), [...Object.keys(requirements), ...rowsNotYetAskedFor].toSorted());
});

it('what of a row has not been asked for yet is not claimed to be built', () => {
  const claimed = new Set<string>(parts);
  for (const [row, names] of Object.entries(partsNotYetAskedFor))
    for (const name of names) assert.ok(!claimed.has(`${row}:${name}`), `${row}:${name}`);
});

it('a part is unproven until a test has recorded it, and apart where it needs what a machine may lack', async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'proofs');
  assert.deepEqual(findUnproven(file).unproven.length + findUnproven(file).lacking.length, parts.length);
  const left = new Set<string>(['A1:hard-links-listed', 'D14:docker-by-name']);
  await writeFile(file, parts.filter((part) => !left.has(part)).join('\n'));
  const { unproven, lacking } = findUnproven(file);
  assert.deepEqual([unproven, lacking.length], [['A1:hard-links-listed'], 1]);
  assert.match(lacking[0]!, /^D14:docker-by-name: needs a Docker engine/);
});

it('a proof is recorded by a test that reaches its end, and by none that is skipped or fails before', async () => {
  await using folder = await temporaryFolder();
  const table = join(root, 'test/requirements/requirements.testing.ts');
  const suite = join(folder.path, 'suite.test.ts');
  await writeFile(
    suite,
    `import { it } from 'node:test';
    import { recordProof } from ${JSON.stringify(table)};
    it('reaches its end', () => recordProof('A1:hard-links-listed', 'A1:any-number-in-pages'));
    it('is skipped', { skip: 'a reason' }, () => recordProof('A4:bytes-exact'));
    it('skips itself', (t) => { if (true) return t.skip('a reason'); recordProof('A5:status-400'); });
    it('fails', () => { throw new Error('before'); recordProof('A6:missing-is-404'); });`,
  );
  const file = join(folder.path, 'proofs');
  // A runner that is told of the one above would report to it, and not start.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const ended = spawnSync(process.execPath, ['--test', suite], { env: { ...env, [proofsVariable]: file } });
  assert.equal(ended.status, 1);
  assert.equal(readFileSync(file, 'utf8'), 'A1:hard-links-listed\nA1:any-number-in-pages\n');
  assert.throws(
    () =>
      execFileSync(
        process.execPath,
        [
          '--input-type=module',
          '-e',
          `import { recordProof } from ${JSON.stringify(table)}; recordProof('A4:bytes-exact')`,
        ],
        { stdio: 'pipe' },
      ),
    /recorded by a test/,
  );
});

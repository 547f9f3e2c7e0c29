import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { it } from 'node:test';
import { isBareParticiple, listDeclarations } from '../../scripts/source-names.ts';

it('names of the top level are found, and those of functions told from others', () => {
  const text = `
export async function sendFile(to: string): Promise<void> {
  const inner = (): void => {};
}
function* walkTree() {}
const toName = (value: string): string => value;
export const limitOf =
  (options: Options) =>
  (value: number) => options.limit;
const pick: (names: string[]) => string = (names) => names[0]!;
const limits = { most: (value: number) => value };
export const most = Math.max(1, 2);
export interface Options {}
type Kind = 'a';
class Pool {}
`;
  const found = listDeclarations(text);
  assert.deepEqual(
    found.map(({ name }) => name),
    ['sendFile', 'walkTree', 'toName', 'limitOf', 'pick', 'limits', 'most', 'Options', 'Kind', 'Pool'],
  );
  assert.deepEqual(
    found.filter(({ isFunction }) => isFunction).map(({ name }) => name),
    ['sendFile', 'walkTree', 'toName', 'limitOf', 'pick'],
  );
  assert.deepEqual(
    found.filter(({ isExported }) => isExported).map(({ name }) => name),
    ['sendFile', 'limitOf', 'most', 'Options'],
  );
});

it('a bare participle is one word that says what was done', () => {
  const participles = ['shown', 'told', 'refused', 'sending', 'kept', 'given'];
  const others = ['read', 'put', 'send', 'sendFile', 'countedRows', 'string', 'nothing', 'feedRows'];
  assert.deepEqual([...participles, ...others].filter(isBareParticiple), participles);
});

it('the numbers are printed with their limits, and as JSON', () => {
  const run = (...flags: string[]): string => {
    const script = join(import.meta.dirname, '../../scripts/numbers.ts');
    const { status, stdout, stderr } = spawnSync(process.execPath, [script, '--still', ...flags], {
      cwd: join(import.meta.dirname, '../..'),
      encoding: 'utf8',
    });
    assert.equal(status, 0, stderr);
    return stdout;
  };
  assert.match(run(), /^✔ rooms in cycles +0 {2}≤ 0$/m);
  const figures = JSON.parse(run('--json')) as Record<string, number>;
  assert.equal(figures['rooms without a README'], 0);
  assert.ok(figures['product files']! > 100);
});

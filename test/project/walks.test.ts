import assert from 'node:assert/strict';
import { it } from 'node:test';
import { nameOfWalk, readBudgets } from '../../scripts/numbers.ts';
import { measureWalks } from '../../scripts/walks.ts';
import { noSandbox } from '../code.testing.ts';

it('no request passes through more files than its budget', { skip: noSandbox }, async () => {
  const budgets = readBudgets();
  for (const { name, files } of await measureWalks((walk) => budgets[nameOfWalk(walk)])) {
    const budget = budgets[nameOfWalk(name)];
    assert.ok(budget !== undefined, `budgets.json has no budget for the walk of ${name}`);
    const message = `the walk of ${name} passes through ${files.length} files, at most ${budget} are allowed:`;
    assert.ok(files.length <= budget, [message, ...files].join('\n  '));
  }
});

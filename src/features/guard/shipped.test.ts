import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createLog } from '../../platform/observability/log.ts';
import { testRules } from './examples.ts';
import { loadRules, shippedWord } from './rule-file.ts';

it('every shipped rule finds its examples and none of its counterexamples', async () => {
  const { rules } = loadRules(shippedWord);
  const { faults, untested, examples } = await testRules(rules, createLog('off'));
  assert.deepEqual(faults, []);
  assert.deepEqual(untested, []);
  assert.ok(examples >= 2 * rules.length, `${examples} examples of ${rules.length} rules`);
  assert.equal(new Set(rules.map(({ id }) => id)).size, rules.length);
});

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { mayUseGroup } from './tool-list.ts';

it('a scope is for its own group, and code also for the groups that were split off or added for it', () => {
  assert.ok(mayUseGroup(undefined, 'operator'));
  for (const group of ['code', 'packages', 'discovery'] as const)
    assert.ok(mayUseGroup(['code'], group), group);
  for (const group of ['files', 'scripts', 'operator'] as const)
    assert.ok(!mayUseGroup(['code'], group), group);
  assert.ok(!mayUseGroup(['packages', 'discovery'], 'code'));
  assert.ok(!mayUseGroup([], 'discovery'));
});

import assert from 'node:assert/strict';
import type { CrateMetadata } from '../crate.ts';

/** What holds for every crate, however odd. */
export function demandConsistent(crate: CrateMetadata): void {
  const ids = new Set(crate.entities.map(({ id }) => id));
  assert.equal(ids.size, crate.entities.length, 'an id is there once');
  assert.ok(crate.entities.length === 0 || ids.has(crate.rootId), 'the root is in the list');
  assert.ok(!ids.has(''), 'an id is not empty');
  for (const { types, properties } of crate.entities) {
    assert.ok(types.every((type) => type !== ''));
    for (const property of properties) {
      assert.notEqual(property.name, '');
      assert.ok(!property.name.startsWith('@'));
      if ('target' in property)
        assert.ok(property.target in crate.entities, 'a target is a place in the list');
    }
  }
  assert.notEqual(crate.title.trim(), '');
  assert.equal(new Set(crate.issues.map(({ code }) => code)).size, crate.issues.length);
  assert.ok(crate.issues.length <= 100 && crate.issues.every(({ count }) => count > 0));
  assert.ok(isStorable(crate), 'no text holds NUL or half a character');
}

function isStorable(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed() && !value.includes('\0');
  if (typeof value !== 'object' || value === null) return true;
  return Object.values(value).every(isStorable);
}

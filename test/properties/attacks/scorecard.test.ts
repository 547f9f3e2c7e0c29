import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { egressAttacks } from '../../../src/features/network/attacks.testing.ts';
import { attacks } from './all.testing.ts';
import { cellsOf, page } from './scorecard.testing.ts';
import { serverAttacks } from './server.testing.ts';

it('there are more than 80 attacks, each with a name of its own', () => {
  const names = [...attacks, ...serverAttacks].map(({ name }) => name);
  assert.ok(names.length >= 80, `${names.length}`);
  assert.equal(new Set(names).size, names.length);
});

it('the page in docs tells of these attacks', () => {
  const names = [...attacks, ...serverAttacks, ...egressAttacks].map(({ name }) => name);
  assert.deepEqual([...cellsOf(readFileSync(page, 'utf8')).keys()], names);
});

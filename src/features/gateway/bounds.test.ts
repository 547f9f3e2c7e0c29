import assert from 'node:assert/strict';
import { it } from 'node:test';
import { exceedsBounds, resultBounds } from './bounds.ts';

it('a result that would keep this process from all others for long is refused', () => {
  const rows = (count: number) => ({
    rows: Array.from({ length: count }, (_, at) => ({ id: at, name: 'x' })),
  });
  assert.equal(exceedsBounds(rows(20_000), resultBounds), false);
  assert.equal(exceedsBounds(rows(80_000), resultBounds), true);
});

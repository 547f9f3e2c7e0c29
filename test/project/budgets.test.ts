import assert from 'node:assert/strict';
import { it } from 'node:test';
import {
  findBudget,
  isKept,
  linesOfFeature,
  meanOfFeature,
  measureTreeFigures,
  readBudgets,
  type Figure,
} from '../../scripts/numbers.ts';

/** The figures of the house, as `npm run -s numbers` prints them; those of walks are in `test/project/`. */
const budgets = readBudgets();

const describeBroken = ({ name, value, isFloor, items = [] }: Figure): string =>
  [
    `${name}: ${value}, ${isFloor ? 'at least' : 'at most'} ${findBudget(name, budgets)}.`,
    'Make it smaller again, or say in a decision why the budget in budgets.json has to change.',
    ...items,
  ].join('\n  ');

it('every figure of the tree is within its budget', () => {
  const broken = measureTreeFigures().filter((figure) => !isKept(figure, budgets));
  assert.equal(broken.length, 0, broken.map(describeBroken).join('\n'));
});

it('every budget is for a figure that is measured', () => {
  const measured = new Set([linesOfFeature, meanOfFeature, ...measureTreeFigures().map(({ name }) => name)]);
  const unknown = Object.keys(budgets).filter((name) => !measured.has(name) && !name.startsWith('files on'));
  assert.deepEqual(unknown, []);
});

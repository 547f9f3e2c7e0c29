import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assemble, type BpfLine } from './bpf.ts';
import { interpret } from './interpreter.testing.ts';

const numberAt = 0;

test('a comparison reaches a target that is further away than its one byte can say', () => {
  const program = assemble([...ladder(700)]);
  for (const number of [0, 1, 254, 255, 256, 257, 511, 698, 699, 700, 5000])
    assert.equal(interpret(program, { arch: 0, number }).verdict, number < 700 ? number : 9999);
});

test('a program without far targets has one instruction for each line', () => {
  assert.equal(assemble([...ladder(100)]).length, 8 * (1 + 100 + 1 + 100));
});

test('a program that the kernel would not take is refused', () => {
  assert.throws(() => assemble([...ladder(3000)]), /more than the kernel takes/);
  assert.throws(
    () => assemble([{ op: 'equal', value: 1, yes: 'nowhere', no: null }]),
    /nothing further down is called nowhere/,
  );
  assert.throws(
    () =>
      assemble([
        { op: 'label', name: 'above' },
        { op: 'equal', value: 1, yes: 'above', no: null },
      ]),
    /nothing further down is called above/,
  );
});

/** Each number goes to a return of its own, far below. */
function* ladder(count: number): Generator<BpfLine> {
  yield { op: 'load', offset: numberAt };
  for (let value = 0; value < count; value++) yield { op: 'equal', value, yes: `${value}`, no: null };
  yield { op: 'return', value: 9999 };
  for (let value = 0; value < count; value++) {
    yield { op: 'label', name: `${value}` };
    yield { op: 'return', value };
  }
}

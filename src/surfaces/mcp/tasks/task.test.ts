import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newTaskId, readLastLine, taskIdForm } from './task.ts';

test('the last line that says something is shown, in one short line', () => {
  assert.equal(readLastLine('one\ntwo\n'), 'two');
  assert.equal(readLastLine('10 %\r20 %\r'), '20 %');
  assert.equal(readLastLine('done\n\n  \n'), 'done');
  assert.equal(readLastLine('\u001b[31mred\u0000'), '[31mred');
  assert.equal(readLastLine(''), '');
  assert.equal(readLastLine('x'.repeat(10_000)).length, 300);
});

test('ids cannot be guessed', () => {
  const ids = new Set(Array.from({ length: 1000 }, newTaskId));
  assert.equal(ids.size, 1000);
  for (const id of ids) assert.match(id, taskIdForm);
});

/** Run under a low limit: uses up all descriptors, then acts with none free, one free, two free … */
import assert from 'node:assert/strict';
import { closeSync, openSync } from 'node:fs';
import { getErrno, isWorkcrateError } from '../errors.ts';
import { openBelow, parsePath, type WalkMethodName } from './paths.ts';

const [directory = '', footing] = process.argv.slice(2);
const root = openBelow(directory, { walkMethod: footing as WalkMethodName });
const acts: (() => void)[] = [
  () => root.open(parsePath('folder/file'))[Symbol.dispose](),
  () => root.create(parsePath('folder/new'))[Symbol.dispose](),
  () => root.list(parsePath('folder')),
];

const taken: number[] = [];
// The first run of each loads what Node loads lazily; the rest is then only about descriptors.
for (const act of acts) act();
root.remove(parsePath('folder/new'));
takeAll();

for (const act of acts) {
  let free = 0;
  while (!succeeds(act)) {
    assert.equal(takeAll(), free, 'a failed attempt kept a descriptor');
    release(++free);
  }
  assert.equal(takeAll(), free, 'a successful attempt kept a descriptor');
  assert.ok(free > 0, 'an attempt without a descriptor succeeded');
}

function succeeds(act: () => void): boolean {
  try {
    act();
    return true;
  } catch (error) {
    if (!isWorkcrateError(error, 'out_of_descriptors')) throw error;
    return false;
  }
}

function takeAll(): number {
  for (let count = 0; ; count++) {
    try {
      taken.push(openSync('/dev/null', 'r'));
    } catch (error) {
      if (getErrno(error) !== 'EMFILE') throw error;
      return count;
    }
  }
}

function release(count: number): void {
  for (const fd of taken.splice(-count)) closeSync(fd);
}

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { toBlockId, findBlockChain, isOwnAttempt, createAttempt, parseBlocks } from './blocks.ts';

const attempt = createAttempt('upload');

/** A block list as the service writes it, of blocks given as run, offset and size. */
const listOf = (...blocks: [run: number, offset: number, size: number][]): string =>
  blocks
    .map(
      ([run, offset, size]) =>
        `<Block><Name>${toBlockId(attempt, run, offset)}</Name><Size>${size}</Size></Block>`,
    )
    .join('');

const endOf = (...blocks: [number, number, number][]): number =>
  findBlockChain(parseBlocks(listOf(...blocks)), attempt, 0).end;

it('reads what it wrote into the id of a block, and passes over blocks of others', () => {
  const most = 2 ** 47;
  const [block, ...others] = parseBlocks(
    `${listOf([3, most, 7])}<Block><Name>b3RoZXI=</Name><Size>1</Size></Block>`,
  );
  assert.deepEqual({ ...block, id: '' }, { id: '', attempt, run: 3, offset: most, size: 7 });
  assert.deepEqual(others, []);
});

it('gives every id the same length, as the service demands', () => {
  const ids = [
    toBlockId(attempt, 0, 0),
    toBlockId(attempt, 50_000, 2 ** 50),
    toBlockId(createAttempt('x'), 1, 1),
  ];
  assert.deepEqual(new Set(ids.map((id) => id.length)), new Set([24]));
});

it('knows the blocks of its own upload', () => {
  assert.ok(isOwnAttempt(createAttempt('upload'), 'upload'));
  assert.ok(!isOwnAttempt(createAttempt('another'), 'upload'));
});

it('a chain ends at the first gap', () => {
  assert.equal(endOf([1, 0, 10], [1, 10, 10], [1, 30, 10]), 20);
  assert.equal(endOf([1, 10, 10]), 0);
});

it('what stood behind a gap stays out although a later append ends where it begins', () => {
  assert.equal(endOf([1, 0, 10], [1, 20, 10], [2, 10, 10]), 20);
  assert.equal(endOf([1, 0, 10], [1, 20, 10], [2, 10, 10], [2, 20, 5]), 25);
});

it('a block of a process that was given up, and that arrives late, gives way to the one written instead', () => {
  assert.equal(endOf([1, 0, 10], [2, 10, 99], [3, 10, 5]), 15);
});

it('blocks of an earlier attempt are no part of the chain', () => {
  const blocks = parseBlocks(listOf([1, 0, 10]));
  assert.equal(findBlockChain(blocks, createAttempt('upload'), 0).end, 0);
});

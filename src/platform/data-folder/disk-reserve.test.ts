import assert from 'node:assert/strict';
import { statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { it } from 'node:test';
import {
  claimSpace,
  hasReserve,
  isNearlyFull,
  leavesReserve,
  measureFreeSpace,
  type FreeSpace,
} from './disk-reserve.ts';

const gigabyte = 1024 ** 3;
const plenty: FreeSpace = {
  usedBytes: 0,
  freeBytes: 10 * gigabyte,
  reserveBytes: gigabyte,
  inodes: { free: 1000, reserve: 20 },
};

it('the reserve is 2 % of the file system, and at most 1 GB', async () => {
  const { usedBytes, freeBytes, reserveBytes } = await measureFreeSpace(tmpdir());
  assert.ok(usedBytes > 0 && freeBytes > 0);
  assert.ok(reserveBytes > 0 && reserveBytes <= gigabyte);
  assert.ok(reserveBytes === gigabyte || reserveBytes <= (usedBytes + freeBytes) * 0.03);
});

it('what is written may take all but the reserve', () => {
  assert.equal(leavesReserve(plenty), true);
  assert.equal(leavesReserve(plenty, 9 * gigabyte), true);
  assert.equal(leavesReserve(plenty, 9 * gigabyte + 1), false);
  assert.equal(leavesReserve({ ...plenty, freeBytes: gigabyte - 1 }), false);
});

it('a file system without inodes is as full as one without bytes, if it counts them', () => {
  assert.equal(leavesReserve({ ...plenty, inodes: { free: 19, reserve: 20 } }), false);
  assert.equal(leavesReserve({ ...plenty, inodes: null }), true);
});

it('half of the reserve is for those who delete', () => {
  const isNearlyFullWith = (freeBytes: number) => isNearlyFull({ ...plenty, freeBytes });
  assert.equal(isNearlyFullWith(gigabyte * 0.6), false);
  assert.equal(isNearlyFullWith(gigabyte * 0.4), true);
  assert.equal(isNearlyFull({ ...plenty, inodes: { free: 9, reserve: 20 } }), true);
});

it('a file system that does not say how large it is is never full', async () => {
  const { blocks } = await statfs('/proc');
  assert.equal(blocks, 0, '/proc is such a one');
  assert.equal(await hasReserve('/proc', gigabyte), true);
});

it('a folder that is not there is an error of statfs', async () => {
  await assert.rejects(hasReserve('/nowhere/at/all'), { code: 'ENOENT' });
});

it('several who claim space get together no more than one alone', async () => {
  const { freeBytes, reserveBytes } = await measureFreeSpace(tmpdir());
  const most = Math.floor((freeBytes - reserveBytes) * 0.8);
  const both = await Promise.all([claimSpace(tmpdir(), most), claimSpace(tmpdir(), most)]);
  // Either may be the first whose disk is measured.
  const [claim, ...more] = both.filter((each) => each !== null);
  assert.ok(claim !== undefined, 'one of them gets it');
  assert.equal(more.length, 0);
  claim[Symbol.dispose]();
  claim[Symbol.dispose]();
  const next = await claimSpace(tmpdir(), most);
  assert.ok(next !== null, 'what is disposed of is free again');
  assert.equal(await claimSpace(tmpdir(), most), null, 'and disposing twice frees nothing more');
  next[Symbol.dispose]();
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fitLimits, noHardLimits, readHardLimits } from './hard-limits.ts';
import { contractLimits } from './contract/harness.contract.ts';

const limits = { ...contractLimits, processes: 128, fileBytes: 2e9 };
const plenty = 2_465_780;

test('hard limits are read as the kernel writes them', () => {
  const text = `Limit                     Soft Limit           Hard Limit           Units     
Max file size             unlimited            unlimited            bytes     
Max processes             97024                300                  processes 
Max open files            1024                 4096                 files     
`;
  assert.deepEqual(readHardLimits(text), { ...noHardLimits, processes: 300, openFiles: 4096 });
  assert.ok(readHardLimits().openFiles >= 256);
});

test('a process of a run has 1,024 open files, and all runs together leave most to others', () => {
  assert.deepEqual(fitLimits(limits, 8, noHardLimits, plenty), { limits, openFiles: 1024, warnings: [] });
  const small = fitLimits(limits, 8, noHardLimits, 800_000);
  assert.equal(small.openFiles, 390);
  assert.match(small.warnings.join(), /390 open files instead of 1024.*fs\.file-max/);
  assert.match(
    fitLimits(limits, 8, noHardLimits, 100_000).warnings.join(),
    /could hold 262144 of the machine's/,
  );
});

test('limits that cannot be raised are lowered, by name', () => {
  const hard = { openFiles: 512, processes: 100, fileBytes: 1e6 };
  const fitted = fitLimits(limits, 8, hard, plenty);
  assert.deepEqual(fitted.limits, { ...limits, processes: 100, fileBytes: 1e6 });
  assert.equal(fitted.openFiles, 512);
  for (const name of ['ulimit -Hn', 'ulimit -Hu', 'ulimit -Hf', 'LimitNOFILE='])
    assert.ok(fitted.warnings.join().includes(name), name);
});

test('with too few open files for any run it is said which limit that is', () => {
  assert.throws(() => fitLimits(limits, 8, { ...noHardLimits, openFiles: 100 }, plenty), {
    code: 'sandbox_unavailable',
    message: /may have 100 \(ulimit -Hn\).*LimitNOFILE=/,
  });
});

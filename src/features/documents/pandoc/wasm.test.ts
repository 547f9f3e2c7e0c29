import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createLog } from '../../../platform/observability/log.ts';
import { pandocContract } from './pandoc.contract.ts';
import { openPandoc } from './pandoc.ts';
import { findPandocPackage } from './wasm.ts';

const open = (memoryBytes: number, epoch: number | null = null) =>
  openPandoc({ command: null, memoryBytes, processes: 1, idleSeconds: 60, epoch, log: createLog('off') });

pandocContract('wasm', { make: () => open(2 ** 30), makeSmall: () => open(400_000_000) });

it('where the packages are missing, the command that installs them is named', () => {
  const none = (): never => {
    throw Object.assign(new Error('none'), { code: 'ERR_MODULE_NOT_FOUND' });
  };
  assert.throws(() => findPandocPackage(none), {
    code: 'documents_unavailable',
    message: /npm install pandoc-wasm @bjorn3\/browser_wasi_shim$/,
  });
});

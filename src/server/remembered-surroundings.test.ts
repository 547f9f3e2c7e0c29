import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { loadConfig } from './settings.ts';
import type { Surroundings } from '../core/runs/surroundings.ts';
import { recallSurroundings, rememberSurroundings } from './remembered-surroundings.ts';

const found: Surroundings = {
  kind: 'bubblewrap',
  hasNetwork: false,
  allowedHosts: null,
  canInstall: false,
  memoryBytes: 1e9,
  python: { version: '3.11', packages: { numpy: '1.24.2', pandas: null }, isDebian: true },
  folders: null,
};

it('what the sandbox had is recalled with the same settings, and only if the file is whole', () => {
  const data = mkdtempSync(join(tmpdir(), 'workcrate-recall-'));
  try {
    const read = (flags: Record<string, string> = {}) => loadConfig({ data, ...flags }, {}).config;
    const file = join(data, 'surroundings.json');
    assert.equal(recallSurroundings(read()), null);
    rememberSurroundings(read(), found);
    assert.deepEqual(recallSurroundings(read()), found);
    assert.equal(recallSurroundings(read({ 'sandbox-network': 'host' })), null);
    assert.deepEqual(readdirSync(data), ['surroundings.json']);
    for (const content of ['', '{', 'null', '[]', '{"settings":1}', ' '.repeat(100_000)]) {
      writeFileSync(file, content);
      assert.equal(recallSurroundings(read()), null, content.slice(0, 20));
    }
    rememberSurroundings(read(), found);
    truncateSync(file, 100);
    assert.equal(recallSurroundings(read()), null);
    rememberSurroundings(read(), null);
    assert.equal(recallSurroundings(read()), null);
  } finally {
    rmSync(data, { recursive: true });
  }
});

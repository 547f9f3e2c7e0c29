import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { folderBytes } from './folder-bytes.ts';

it('D14: what lies deeper than a path can tell is counted too', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'workcrate-deep-'));
  // Node cannot name what it would have to remove.
  t.after(() => execFileSync('rm', ['-rf', '--', folder]));
  const code = `import os
os.chdir('${folder}')
for _ in range(50): os.mkdir('d' * 100); os.chdir('d' * 100)
open('file', 'wb').write(bytes(2_000_000))`;
  execFileSync('/usr/bin/python3', ['-c', code]);
  const bytes = await folderBytes([folder], new AbortController().signal);
  assert.ok(bytes >= 2_000_000, `${bytes} bytes`);
});

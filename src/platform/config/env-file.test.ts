import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { applyEnvFile, findUnreadEnvFile } from './env-file.ts';

function temporaryFile(text: string): Disposable & { path: string } {
  const folder = mkdtempSync(join(tmpdir(), 'workcrate-env-'));
  const path = join(folder, 'workcrate.env');
  writeFileSync(path, text);
  return { path, [Symbol.dispose]: () => rmSync(folder, { recursive: true }) };
}

it('a file of variables is read as a service has it, and what is set already wins', () => {
  using file = temporaryFile(
    '# settings\nWORKCRATE_PORT=9181\n\nWORKCRATE_DATABASE="postgres://u:p@db/w"\nWORKCRATE_HOST=::1 \n',
  );
  const environment: NodeJS.ProcessEnv = { WORKCRATE_HOST: '127.0.0.1' };
  applyEnvFile(file.path, environment);
  assert.deepEqual(environment, {
    WORKCRATE_HOST: '127.0.0.1',
    WORKCRATE_PORT: '9181',
    WORKCRATE_DATABASE: 'postgres://u:p@db/w',
  });
});

it('a file that is not there is an error', () => {
  assert.throws(() => applyEnvFile('/nonexistent/workcrate.env', {}), {
    code: 'config_invalid',
    message: '--service-env /nonexistent/workcrate.env cannot be read (ENOENT).',
  });
});

it('the settings of a service that a command did not read are found', () => {
  using file = temporaryFile('');
  assert.equal(findUnreadEnvFile(undefined, file.path), file.path);
  assert.equal(findUnreadEnvFile(file.path, file.path), null);
  assert.equal(findUnreadEnvFile(undefined, '/nonexistent/workcrate.env'), null);
});

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { lockFolder } from './data-folder.ts';

function temporary() {
  const path = mkdtempSync(join(tmpdir(), 'workcrate-lock-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true }) };
}

it('a folder is made for its owner alone, and names the process that holds it', () => {
  using place = temporary();
  const folder = join(place.path, 'a', 'b');
  using _lock = lockFolder(folder);
  assert.equal(statSync(folder).mode & 0o777, 0o700);
  assert.equal(readFileSync(join(folder, 'pid'), 'utf8'), `${process.pid}\n`);
});

it('a folder is held once, until it is let go', () => {
  using place = temporary();
  {
    using _lock = lockFolder(place.path);
    assert.throws(() => lockFolder(place.path), {
      code: 'data_in_use',
      message: new RegExp(
        `in use by another workcrate \\(process ${process.pid}\\)\\. Stop that one, or .* --data`,
      ),
    });
  }
  using _again = lockFolder(place.path);
});

it('a pid that a killed process left does not hold the folder', () => {
  using place = temporary();
  writeFileSync(join(place.path, 'pid'), '1\n');
  using _lock = lockFolder(place.path);
  assert.equal(readFileSync(join(place.path, 'pid'), 'utf8'), `${process.pid}\n`);
});

it('what cannot be a folder is refused with the reason, and is not said to be in use', () => {
  using place = temporary();
  const file = join(place.path, 'file');
  writeFileSync(file, '');
  assert.throws(() => lockFolder(file), {
    code: 'storage_failed',
    message: /it is a file\. Choose another with --data/,
  });
  assert.throws(() => lockFolder(join(file, 'x')), {
    code: 'storage_failed',
    message: /a part of its path is a file/,
  });
  assert.throws(() => lockFolder('a\0b'), { code: 'storage_failed' });
});

it('a lock file that is no lock is refused, and the folder can be taken once it is gone', () => {
  using place = temporary();
  const lock = join(place.path, 'lock.db');
  writeFileSync(lock, 'no database. '.repeat(100));
  assert.throws(() => lockFolder(place.path), { code: 'storage_failed', message: /file is not a database/ });
  rmSync(lock);
  using _lock = lockFolder(place.path);
});

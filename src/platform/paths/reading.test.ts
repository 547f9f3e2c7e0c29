import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { symlinkSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { openBelow, parsePath } from './paths.ts';
import { allFootings, playground, refusedAs } from './playground.testing.ts';

for (const footing of allFootings) {
  test(`a FIFO and a socket are refused at once, without waiting for the other end (${footing})`, async () => {
    using play = playground();
    execFileSync('mkfifo', [join(play.root, 'fifo')]);
    await using server = createServer().listen(join(play.root, 'socket'));
    await once(server, 'listening');
    const root = openBelow(play.root, { walkMethod: footing });
    for (const name of ['fifo', 'socket']) {
      assert.throws(() => root.open(parsePath(name)), refusedAs('not_regular'));
      assert.equal(root.stat(parsePath(name)).type, 'other');
      assert.throws(() => root.create(parsePath(name)), { code: 'already_exists' });
    }
  });

  test(`devices are refused (${footing})`, () => {
    const root = openBelow('/dev', { walkMethod: footing });
    for (const name of ['null', 'zero', 'tty']) {
      assert.throws(() => root.open(parsePath(name)), refusedAs('not_regular'));
    }
  });

  test(`a listing tells name, type, size and time, in the order of bytes (${footing})`, () => {
    using play = playground();
    truncateSync(join(play.root, 'file'), 5_000_000_000);
    utimesSync(join(play.root, 'file'), 1, 1.5);
    symlinkSync('file', join(play.root, 'link'));
    execFileSync('mkfifo', [join(play.root, '\u{1f600}')]);
    writeFileSync(join(play.root, '\uffee'), '');
    const { entries, unreadable } = openBelow(play.root, { walkMethod: footing }).list();
    assert.deepEqual(
      entries.map((entry) => [entry.name, entry.type]),
      [
        ['file', 'file'],
        ['folder', 'folder'],
        ['link', 'link'],
        ['\uffee', 'file'],
        ['\u{1f600}', 'other'],
      ],
    );
    assert.deepEqual(entries[0], { name: 'file', type: 'file', size: 5_000_000_000, modified: 1500 });
    assert.equal(unreadable, 0);
  });

  test(`names that are not UTF-8 are left out of a listing and counted (${footing})`, () => {
    using play = playground();
    const folder = join(play.root, 'folder');
    for (const byte of [0xfe, 0xff])
      writeFileSync(Buffer.concat([Buffer.from(`${folder}/`), Buffer.of(byte)]), '');
    writeFileSync(join(folder, '\ufffd'), 'its own name');
    const { entries, unreadable } = openBelow(play.root, { walkMethod: footing }).list(parsePath('folder'));
    assert.deepEqual(
      entries.map((entry) => entry.name),
      ['file', '\ufffd'],
    );
    assert.equal(unreadable, 2);
  });

  test(`a folder of more entries than may be listed is given up on (${footing})`, () => {
    using play = playground();
    assert.equal(openBelow(play.root, { walkMethod: footing, mostEntries: 2 }).list().entries.length, 2);
    const root = openBelow(play.root, { walkMethod: footing, mostEntries: 1 });
    assert.throws(() => root.list(), { code: 'too_large', details: { limit: 1 } });
  });
}

import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { it } from 'node:test';
import { smallDisk } from '../../test/properties/faults/small-disk.testing.ts';
import { demandReadiness } from './readiness.ts';

const answers = async (): Promise<void> => {};
const neverAnswers = (): Promise<void> => new Promise(() => {});
const folders = [tmpdir()];

it('a store or database that hangs makes the server not ready within some seconds', async () => {
  await demandReadiness({ database: answers, storage: answers, folders: [] });
  await Promise.all([
    assert.rejects(demandReadiness({ database: answers, storage: neverAnswers, folders }), {
      code: 'storage_failed',
      message: 'The store did not answer within 5 s.',
    }),
    assert.rejects(demandReadiness({ database: neverAnswers, storage: answers, folders }), {
      code: 'database_failed',
    }),
  ]);
});

it('a disk below its reserve makes the server not ready', async (t) => {
  await using disk = await smallDisk(t, '8m');
  if (disk === null) return;
  const ready = () => demandReadiness({ database: answers, storage: answers, folders: [disk.path] });
  await ready();
  await disk.fill();
  await assert.rejects(ready(), {
    code: 'storage_full',
    message: /^The disk is full: 0 bytes? are free/,
  });
  await disk.free();
  await ready();
});

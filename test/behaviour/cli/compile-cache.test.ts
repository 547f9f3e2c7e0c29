import assert from 'node:assert/strict';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { serve, temporaryFolder } from './program.testing.ts';

const launcher = [process.execPath, join(import.meta.dirname, '../../../bin/workcrate.js')];

/** The files that Node has finished: it writes each under a name with a dot, and renames it. */
const listKept = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => /[/][^/.]+$/.test(path));

/** When each was written. */
const readTimes = (folder: string): Map<string, number> =>
  new Map(listKept(folder).map((path) => [path, statSync(join(folder, path)).mtimeMs]));

it('what a start compiled is kept for the next one, even where the server is killed', async () => {
  await using folder = await temporaryFolder();
  const cache = join(folder.path, 'workcrate/compiled');
  const start = () =>
    serve(['--data', join(folder.path, 'data')], {
      program: launcher,
      env: { XDG_CACHE_HOME: folder.path, NODE_COMPILE_CACHE: '' },
    });
  {
    await using first = await start();
    await eventually(() => listKept(cache).length > 500);
    await first.end('SIGKILL');
  }
  const kept = readTimes(cache);
  {
    await using second = await start();
    await second.end('SIGTERM');
  }
  const times = readTimes(cache);
  const rewritten = [...kept].filter(([path, time]) => times.get(path) !== time);
  assert.deepEqual(rewritten, [], 'V8 could not use what was kept');
});

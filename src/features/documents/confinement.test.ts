import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { WorkcrateError } from '../../platform/errors.ts';
import { eventually } from '../../platform/eventually.testing.ts';
import { createLog } from '../../platform/observability/log.ts';
import { createHelperProcess } from '../../platform/workers/workers.ts';
import type { LookingMethods } from './confinement.testing.ts';
import { findConfinement } from './confinement.ts';

const file = new URL('./confinement.testing.ts', import.meta.url);
const sources = dirname(dirname(import.meta.dirname));
const skip = (await findConfinement({ readable: [] })) === null && 'bubblewrap does not work on this machine';

function newFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'workcrate-confinement-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function newLooking(t: TestContext, given: string) {
  const wrapper = await findConfinement({ readable: [sources, join(sources, '../package.json'), given] });
  const looking = createHelperProcess<LookingMethods>(file, null, createLog('off'), { wrapper, env: {} });
  t.after(() => looking[Symbol.asyncDispose]());
  return looking;
}

it(
  'a confined process sees what it is given and no other file, no network and no other process',
  { skip },
  async (t) => {
    const folder = newFolder(t);
    const given = join(folder, 'given');
    writeFileSync(given, 'this');
    writeFileSync(join(folder, 'beside'), 'not this');
    const looking = await newLooking(t, given);
    const seen = await looking.call('look', given);
    assert.deepEqual([seen.passwd, seen.homes, seen.own, seen.write], ['ENOENT', 'ENOENT', 'this', 'EROFS']);
    assert.deepEqual([seen.interfaces, seen.processes.length], [['lo'], 2]);
    assert.deepEqual(seen.environment, ['PWD']);
    assert.equal(await looking.call('look', join(folder, 'beside')).then(({ own }) => own), 'ENOENT');
    assert.equal(readFileSync(given, 'utf8'), 'this');
  },
);

/** The processes of this machine in whose command line a text stands. */
function processesWith(text: string): string[] {
  return readdirSync('/proc').filter((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(text);
    } catch {
      return false;
    }
  });
}

it('when the outer process is killed, the inner one is gone, even if it is busy', { skip }, async (t) => {
  const given = newFolder(t);
  const looking = await newLooking(t, given);
  await looking.call('look', given);
  const spinning = looking.call('spin', undefined);
  assert.ok(processesWith(given).length > 0);
  const inner = innermost(processesWith(given));
  const cause = new WorkcrateError('document_timeout', 'It took too long.');
  looking.kill(cause);
  await assert.rejects(spinning, cause);
  const isThere = (): boolean => processesWith(given).length > 0 || isAlive(inner);
  await eventually(() => !isThere());
});

it(
  'whenever a process is killed, also while its walls are set up, nothing of it is left',
  { skip },
  async (t) => {
    const given = newFolder(t);
    const readable = [sources, join(sources, '../package.json'), given];
    const wrapper = await findConfinement({ readable });
    const cancelled = new WorkcrateError('cancelled', 'It was cancelled.');
    const cancelOne = async (afterMs: number): Promise<void> => {
      const looking = createHelperProcess<LookingMethods>(file, null, createLog('off'), { wrapper, env: {} });
      const call = looking.call('look', given).catch(() => {});
      await pause(afterMs);
      looking.kill(cancelled);
      await call;
      await looking[Symbol.asyncDispose]();
    };
    for (let round = 0; round < 40; round++)
      await Promise.all(Array.from({ length: 4 }, (_, at) => cancelOne((round * 4 + at) / 4)));
    await eventually(() => processesWith(given).length === 0);
  },
);

/** Bubblewrap stands twice before Node, whose own command line does not name what it may read. */
function innermost(wrappers: string[]): string {
  const parents = new Set(wrappers);
  for (let depth = 0; depth < 4; depth++)
    for (const name of readdirSync('/proc'))
      if (/^\d+$/.test(name) && parents.has(parentOf(name))) parents.add(name);
  return [...parents].at(-1)!;
}

function parentOf(pid: string): string {
  try {
    return /^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '';
  } catch {
    return '';
  }
}

/** One that has ended stays in the list until whoever inherited it takes note. */
function isAlive(pid: string): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

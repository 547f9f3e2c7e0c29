import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { WorkcrateError } from '../../../platform/errors.ts';
import { eventually } from '../../../platform/eventually.testing.ts';
import { createLog } from '../../../platform/observability/log.ts';
import { findConfinement } from '../confinement.ts';
import { pandocContract } from './pandoc.contract.ts';
import { openPandoc } from './pandoc.ts';
import { findPandocProgram, isVersionAtLeast } from './system.ts';

const open = (memoryBytes: number, command = 'pandoc') =>
  openPandoc({ command, memoryBytes, processes: 2, idleSeconds: 60, epoch: null, log: createLog('off') });

const never = new AbortController().signal;
const isHere = ['/usr/bin/pandoc', '/usr/local/bin/pandoc'].some((path) => existsSync(path));
const version = isHere ? await open(1e9).version(never) : '0';
const walls = await findConfinement({ readable: [] });

if (isHere)
  pandocContract(
    `system, Pandoc ${version}`,
    { make: () => open(1_000_000_000), makeSmall: () => open(60_000_000) },
    {
      ...(!isVersionAtLeast(version, '3.1.2') && { typst: `Pandoc ${version} has no writer for Typst` }),
      ...(walls === null && { walls: 'bubblewrap does not work on this machine' }),
    },
  );
else it('pandoc contract: system', { skip: 'there is no Pandoc on this machine' }, () => {});

it(
  'an old Pandoc that is asked for Typst says which one can',
  { skip: (!isHere || isVersionAtLeast(version, '3.1.2')) && 'there is no old Pandoc here' },
  async () => {
    await using pandoc = open(1e9);
    await assert.rejects(pandoc.convert({ options: { from: 'markdown', to: 'typst' }, input: 'a' }, never), {
      code: 'unsupported',
      message: /3\.1\.2/,
    });
  },
);

/** Says that it is a Pandoc, and converts without end. The Node of this process can be read inside the walls. */
const endlessProgram = `#!${process.execPath}
if (process.argv.includes('--version')) console.log('pandoc 3.1.11');
else setInterval(() => {}, 1000);
`;

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

it(
  'whenever a conversion is cancelled, also while its walls are set up, nothing of it is left',
  { skip: walls === null && 'bubblewrap does not work on this machine' },
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'workcrate-endless-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const program = join(folder, 'pandoc');
    writeFileSync(program, endlessProgram, { mode: 0o755 });
    await using pandoc = open(1e9, program);
    assert.notEqual((await findPandocProgram(program)).readable, null);
    const cancelled = new WorkcrateError('cancelled', 'It was cancelled.');
    const cancelOne = async (afterMs: number): Promise<void> => {
      const stop = new AbortController();
      const rejected = assert.rejects(
        pandoc.convert({ options: { to: 'html' }, input: 'a' }, stop.signal),
        cancelled,
      );
      await pause(afterMs);
      stop.abort(cancelled);
      await rejected;
    };
    for (let round = 0; round < 40; round++)
      await Promise.all(Array.from({ length: 4 }, (_, at) => cancelOne((round * 4 + at) / 4)));
    await eventually(() => processesWith(program).length === 0);
  },
);

it('a Pandoc that is not there is told when it is needed', async () => {
  for (const command of ['no-such-pandoc', '/no/such/pandoc', '/bin/true']) {
    await using pandoc = open(1e9, command);
    await assert.rejects(pandoc.version(never), { code: 'documents_unavailable' });
  }
});

it('versions are compared by their numbers', () => {
  assert.deepEqual(
    ['3.1.2', '3.1.11', '3.10', '4', '3.1', '3.1.1.9', '2.17.1.1'].map((one) =>
      isVersionAtLeast(one, '3.1.2'),
    ),
    [true, true, true, true, false, false, false],
  );
});

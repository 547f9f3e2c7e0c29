import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { it } from 'node:test';
import { createLog } from '../../observability/log.ts';
import { findConfinement } from '../confinement.ts';
import { pandocContract } from './pandoc.contract.ts';
import { openPandoc } from './pandoc.ts';
import { isVersionAtLeast } from './system.ts';

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

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { it } from 'node:test';
import { noSandbox } from '../../code.testing.ts';
import { run, serve, temporaryFolder, upload } from '../../behaviour/cli/program.testing.ts';
import { smallDisk } from '../faults/small-disk.testing.ts';
import { startTeam, type Team } from './team.testing.ts';

const made = await startTeam();
const skip = typeof made === 'string' && made;

it(
  'a full disk on one of two servers keeps neither from files, and runs are answered',
  { skip },
  async (t) => {
    await using team = made as Team;
    await using disk = await smallDisk(t, '8m');
    if (disk === null) return;
    const env = { ...team.env, ...(noSandbox === false ? { WORKCRATE_SANDBOX: 'auto' } : {}) };
    await using full = await serve(['--data', disk.path], { env });
    await using roomy = await temporaryFolder();
    await using other = await serve(['--data', roomy.path], { env });
    await disk.fill();
    const bytes = randomBytes(12_000_000);
    const [there, here] = [await upload(other, 'a.bin', bytes), await upload(full, 'b.bin', bytes)];
    for (const [program, { file_id, sha256 }] of [
      [full, there],
      [other, here],
    ] as const) {
      const { data } = await program.call('share_file', { file_id });
      assert.equal(data.sha256, sha256);
      assert.ok(Buffer.from(await (await fetch(data.downloadUrl as string)).arrayBuffer()).equals(bytes));
    }
    if (noSandbox === false) {
      // The line of the journal cannot be written; the row has it.
      const { data } = await full.call('execute_code', { language: 'python', code: 'print(6 * 7)' });
      assert.equal(data.stdout, '42\n');
      const { data: seen } = await other.call('get_execution', { execution_id: data.execution_id });
      assert.equal(seen.stdout, '42\n');
    }
    await full.end('SIGTERM');
    await other.end('SIGTERM');
    await using folder = await temporaryFolder();
    const { stdout } = await run(['check', '--read-data', '--data', folder.path], { env: team.env });
    assert.match(stdout, /checked 2 files, 24000000 bytes: all is well/);
  },
);

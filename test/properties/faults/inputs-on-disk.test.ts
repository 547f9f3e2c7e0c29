import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { hasReserve } from '../../../src/platform/data-folder/disk-reserve.ts';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { noSandbox } from '../../code.testing.ts';
import { send, startTeam, type Member } from '../../behaviour/users/team.testing.ts';
import { smallDisk } from './small-disk.testing.ts';

const mega = 1024 ** 2;
const settings = { sandbox: 'bubblewrap', warmPython: 0, warmNode: 0, warmBash: 1, storage: 'disk' } as const;

const bytesIn = (folder: string): number =>
  Number(execFileSync('du', ['-s', '--block-size=1', folder], { encoding: 'utf8' }).split('\t')[0]);

async function leaveFree(disk: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(disk);
  await writeFile(join(disk, 'ballast'), Buffer.alloc(Math.floor(bavail * bsize - bytes)));
}

const bash = (member: Member, command: string, more: Record<string, unknown> = {}) =>
  member.call('execute_code', { language: 'bash', code: command, ...more });

/** Each in a folder of its own, where a copy stays that is not as it was. */
const give = (member: Member, file: string) =>
  bash(member, 'printf y | dd of=data.bin conv=notrunc status=none', { files: [file] });

describe('what runs are given, on disk', { skip: noSandbox }, () => {
  it('inputs that do not fit are refused before they are copied, however often they are tried', async () => {
    await using team = await startTeam({ ...settings, runDisk: 10 * mega });
    const eve = await team.join('eve');
    const file = await send(eve, 'data.bin', 'x'.repeat(4 * mega));
    const places = join(team.config.data, 'places');
    for (let run = 0; run < 2; run++) assert.equal((await give(eve, file)).failed, false);
    const before = bytesIn(places);
    for (let run = 0; run < 5; run++) {
      const { code, text } = await give(eve, file);
      assert.equal(code, 'quota_exceeded');
      assert.match(text, /inputs of this run take 4 MB, but your .* take 8 MB already, and may take 10 MB/);
    }
    assert.equal(bytesIn(places), before);
    assert.equal((await bash(eve, 'rm -rf /workspace/exec_*')).failed, false);
    const together = await Promise.all(Array.from({ length: 6 }, () => give(eve, file)));
    const refused = together.filter(({ failed }) => failed);
    assert.ok(refused.length >= 4, 'what one alone may not have, several do not get together');
    assert.deepEqual([...new Set(refused.map(({ code }) => code))], ['quota_exceeded']);
    assert.ok(bytesIn(places) <= 10 * mega);
  });

  it('the inputs of one user never fill the disk for others, whose runs go on', async (t) => {
    await using disk = await smallDisk(t, '64m');
    if (disk === null) return;
    await using team = await startTeam({ ...settings, data: join(disk.path, 'data') });
    const [eve, fay] = [await team.join('eve'), await team.join('fay')];
    // Less than the reserve, so that the last one that fits would break it.
    const file = await send(eve, 'data.bin', 'x'.repeat(mega));
    const codes = new Set<string | null>();
    for (let run = 0; run < 70; run++) codes.add((await give(eve, file)).code);
    assert.deepEqual([...codes], [null, 'storage_full']);
    assert.equal(await hasReserve(disk.path), true);
    assert.match((await bash(fay, 'echo fine > f; cat f')).text, /fine/);
    assert.equal((await fay.fetch('/readyz')).status, 200);
  });

  it('on a full disk who has something to delete may run, and nobody else', async (t) => {
    await using disk = await smallDisk(t, '100m');
    if (disk === null) return;
    await using team = await startTeam({ ...settings, data: join(disk.path, 'data') });
    const [eve, fay] = [await team.join('eve'), await team.join('fay')];
    assert.equal((await bash(eve, 'head -c 8M /dev/zero > /workspace/large')).failed, false);
    // Two thirds of the reserve.
    await leaveFree(disk.path, 1.4 * mega);
    await eventually(async () => (await bash(fay, 'true')).code === 'storage_full');
    const { data } = await fay.call('search_executions', { status: 'refused' });
    assert.deepEqual(data.executions, [], 'which takes no space for a record either');
    const deleted = await bash(eve, 'sleep 0.3; rm /workspace/large; sleep 0.3; echo gone');
    assert.match(deleted.text, /gone/);
    assert.equal((await bash(fay, 'echo fine')).failed, false);
  });

  it('on a full disk a run that adds is stopped, though it was let in to delete', async (t) => {
    await using disk = await smallDisk(t, '300m');
    if (disk === null) return;
    await using team = await startTeam({ ...settings, data: join(disk.path, 'data') });
    const eve = await team.join('eve');
    assert.equal((await bash(eve, 'head -c 8M /dev/zero > /workspace/large')).failed, false);
    await leaveFree(disk.path, 5.8 * mega);
    const adding = await bash(eve, 'sleep 0.3; head -c 1500K /dev/zero > /workspace/more; sleep 20');
    assert.match(adding.text, /the disk of the server is nearly full/);
  });
});

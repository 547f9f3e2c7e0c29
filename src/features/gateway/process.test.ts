import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { eventually } from '../../platform/eventually.testing.ts';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';
import { hostile, isAlive, openTestGateway } from './gateway.testing.ts';

const onLinux = process.platform === 'linux' ? false : 'processes are found by /proc';

/** Processes that have a word in their environment. */
function listMarked(word: string): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.filter((pid) => readEnvironment(pid).includes(word)).map(Number);
}

function readEnvironment(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1');
  } catch {
    // It has ended, or is not ours.
    return '';
  }
}

const mark = () => `TEST_ROUND_${Math.random().toString(36).slice(2)}`;

it(
  'a server that ignores the end of its stdin and SIGTERM is killed, with children that left its group',
  { skip: onLinux },
  async () => {
    let pids: number[];
    {
      await using it = await openTestGateway({ mcpServers: { bad: hostile(['--ignores-end']) } });
      pids = [Number(await it.call('bad_pid')), Number(await it.call('bad_child'))];
      assert.ok(pids.every(isAlive));
    }
    assert.deepEqual(pids.filter(isAlive), []);
  },
);

it('children of a server that dies end with it', { skip: onLinux }, async () => {
  await using it = await openTestGateway({ mcpServers: { bad: hostile() } });
  const child = Number(await it.call('bad_child'));
  await it.call('bad_die');
  await eventually(() => !isAlive(child));
});

it('100 rounds of connecting and being killed leave no process', { skip: onLinux }, async () => {
  const word = mark();
  {
    await using it = await openTestGateway({ mcpServers: { bad: hostile([], { env: { [word]: '1' } }) } });
    const oneRound = async (round: number): Promise<void> => {
      const user = `user${round}`;
      const pid = Number(await it.call('bad_pid', {}, { user }));
      if (round % 2 === 0) await it.call('bad_child', {}, { user });
      process.kill(pid, 'SIGKILL');
      await eventually(() => !isAlive(pid));
    };
    // A few at once, since each starts a Node.
    for (let first = 0; first < 100; first += 4)
      await Promise.all([0, 1, 2, 3].map((more) => oneRound(first + more)));
    await eventually(() => listMarked(word).length === 0);
    await eventually(() => it.gateway.countConnections() === 0);
  }
  assert.deepEqual(listMarked(word), []);
  recordProof('F3:no-process-is-left');
});

it('what servers leave behind ends when the gateway is killed', { skip: onLinux }, async () => {
  const word = mark();
  const program = join(import.meta.dirname, 'gateway-program.testing.ts');
  const child = spawn(process.execPath, [program, word], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  assert.equal(listMarked(word).length, 2);
  child.kill('SIGKILL');
  await eventually(() => listMarked(word).length === 0);
});

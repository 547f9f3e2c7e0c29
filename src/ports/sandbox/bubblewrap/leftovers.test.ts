import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { eventually } from '../../../platform/eventually.testing.ts';
import { sandboxMark, endLeftovers } from './leftovers.ts';

const crash = fileURLToPath(new URL('crash.testing.ts', import.meta.url));

/** Starts a server and has it killed; gives the pid that it had. */
async function killServer(afterMs: number, folder: string): Promise<number> {
  const env = { ...process.env, TMPDIR: folder };
  const child = spawn(process.execPath, [crash, String(afterMs)], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [, signal] = (await once(child, 'close')) as [number | null, string | null];
  assert.equal(signal, 'SIGKILL');
  return child.pid!;
}

/** Processes whose environment says that a server started them. */
function startedBy(server: number): string[] {
  return readdirSync('/proc').filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      return new RegExp(`\0?WORKCRATE_CELL=workcrate-\\d+-${server}-`).test(
        readFileSync(`/proc/${name}/environ`, 'latin1'),
      );
    } catch {
      return false;
    }
  });
}

test('a server that is killed while it starts a sandbox leaves no process behind', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'workcrate-crash-'));
  try {
    for (const afterMs of [0, 1, 4, 8, 15, 30]) {
      const server = await killServer(afterMs, folder);
      await eventually(() => startedBy(server).length === 0);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

const uid = process.getuid?.() === 0 ? { uid: 230_900, gid: 230_900 } : {};

/** A process that waits, with the environment of a cell. */
async function waiting(name: string, mark: Record<string, string>): Promise<ChildProcess> {
  const child = spawn('/bin/sh', { argv0: name, env: mark, stdio: ['pipe', 'pipe', 'ignore'], ...uid });
  const command = `printf ${name} > /proc/$$/comm; echo ready; read line\n`;
  child.stdin!.write(command);
  await once(child.stdout!, 'data');
  return child;
}

test('a start ends what a dead server left, and nothing else', async () => {
  const [[variable, own]] = Object.entries(sandboxMark) as [[string, string]];
  // The same pid with another start: a server that is no more.
  const dead = { [variable]: own.replace(/-\d+-cell$/, '-1-cell') };
  const left = await waiting('bwrap', dead);
  const others = [
    await waiting('bwrap', sandboxMark),
    await waiting('other', dead),
    await waiting('bwrap', {}),
  ];
  try {
    const end = once(left, 'exit');
    // Not how many it ended: another server that starts just now may have been first.
    endLeftovers();
    assert.deepEqual(await end, [null, 'SIGKILL']);
    for (const other of others) assert.equal(other.kill(0), true);
  } finally {
    for (const other of [left, ...others]) other.kill('SIGKILL');
  }
});

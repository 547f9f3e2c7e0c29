import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { openDockerEngine } from './engine.ts';
import { imageTar } from './image.testing.ts';

/** A Docker engine with an image in it. */
export interface TestEngine extends AsyncDisposable {
  readonly socket: string;
  readonly image: string;
}

const startingMs = 30_000;
const image = 'workcrate-test:latest';

/** The shell's input ends when this process does, however that comes about: then it ends the engine and cleans up. */
const guard = `
  trap '' PIPE INT
  dockerd --bridge=none --iptables=false --ip6tables=false --shutdown-timeout 1 \\
    --data-root "$DIR/data" --exec-root "$DIR/exec" --pidfile "$DIR/pid" -H "unix://$DIR/docker.sock" \\
    > "$DIR/log" 2>&1 < /dev/null &
  engine=$!
  cat > /dev/null
  containerd=$(cat "$DIR/exec/containerd/containerd.pid" 2> /dev/null)
  kill -TERM $engine 2> /dev/null
  for i in $(seq 100); do kill -0 $engine 2> /dev/null || break; sleep 0.1; done
  kill -KILL $engine $containerd 2> /dev/null
  wait $engine 2> /dev/null
  for i in 1 2 3; do
    cut -d' ' -f2 /proc/mounts | grep "^$DIR/" | sort -r | while read -r at; do umount -l "$at"; done
  done 2> /dev/null
  rm -rf "$DIR"`;

/** Where the runner names the engine that all test files share, as JSON: to start one and to make its image takes long. */
export const sharedEngineVariable = 'WORKCRATE_TEST_DOCKER';

/** The engine that the runner started, or one of this process's own. Others may have containers in it too. */
export async function findEngine(): Promise<TestEngine | null> {
  const given = process.env[sharedEngineVariable];
  if (given === undefined) return startEngine();
  const { socket, image: made } = JSON.parse(given) as TestEngine;
  return { socket, image: made, [Symbol.asyncDispose]: async () => {} };
}

/**
 * Starts a real engine, which ends with the process, even with one that is killed, and makes an image in it. Or prints
 * why that cannot be and gives null, so that tests skip.
 */
export async function startEngine(): Promise<TestEngine | null> {
  const missing = whatIsMissing();
  if (missing === null) {
    const folder = await mkdtemp(join(tmpdir(), 'workcrate-docker-'));
    return startIn(folder);
  }
  console.log(`No Docker engine for tests: ${missing}`);
  return null;
}

/** The `skip` of tests where findEngine gave null. */
export const noEngine = 'no Docker engine can be run here, for the reason printed above';

function whatIsMissing(): string | null {
  if (process.getuid?.() !== 0) return 'only root can start one';
  const missing = ['dockerd', 'containerd', 'runc'].find((name) => !isInstalled(name));
  return missing === undefined ? null : `${missing} is not installed (Debian: docker.io)`;
}

function isInstalled(name: string): boolean {
  return ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin'].some((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

async function startIn(folder: string): Promise<TestEngine | null> {
  const socket = join(folder, 'docker.sock');
  const env = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', DIR: folder };
  const shell = spawn('/bin/sh', ['-c', guard], {
    env,
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const ended = once(shell, 'exit');
  shell.unref();
  (shell.stdin as { unref?(): void }).unref?.();
  const stop = async () => {
    shell.ref();
    shell.stdin.end();
    await ended;
  };
  try {
    await answering(socket);
    await importImage(socket);
    return { socket, image, [Symbol.asyncDispose]: stop };
  } catch (error) {
    const log = await readFile(join(folder, 'log'), 'utf8').catch(() => '');
    await stop();
    await rm(folder, { recursive: true, force: true });
    console.log(`No Docker engine for tests: ${String(error)}\n${log.slice(-2000)}`);
    return null;
  }
}

async function answering(socket: string): Promise<void> {
  const end = performance.now() + startingMs;
  for (;;) {
    try {
      return void (await openDockerEngine(socket).call('GET', '/_ping'));
    } catch (error) {
      if (performance.now() > end) throw error;
    }
    await sleep(100);
  }
}

async function importImage(socketPath: string): Promise<void> {
  const [repo, tag] = image.split(':');
  const path = `/images/create?fromSrc=-&repo=${repo}&tag=${tag}`;
  const asking = request({
    socketPath,
    path,
    method: 'POST',
    headers: { 'content-type': 'application/x-tar' },
  });
  await using tar = await imageTar();
  tar.stream.pipe(asking);
  const [response] = (await once(asking, 'response')) as [import('node:http').IncomingMessage];
  const said = await text(response);
  if (response.statusCode !== 200 || said.includes('"error"')) throw new Error(`no image: ${said}`);
}

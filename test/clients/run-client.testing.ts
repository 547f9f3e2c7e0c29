import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Received, Script } from './conversation.testing.ts';
import { startModel } from './model.testing.ts';
import type { Invocation, Place, Program } from './programs.testing.ts';

export interface Finished {
  /** What its model received for each call. */
  readonly received: readonly Received[];
  /** The bodies of all requests to its model. */
  readonly requests: readonly unknown[];
  /** Hosts beyond loopback that it asked for; it was not let through. */
  readonly outside: readonly string[];
  readonly unknown: readonly string[];
  readonly output: string;
}

/** Runs a client once, in a home and an environment of its own, while its model follows the script. */
export async function runClient(
  program: Program,
  packages: string,
  place: Place,
  script: Script,
  prepareProject: (folder: string) => void = () => {},
): Promise<Finished> {
  using stage = makeStage();
  prepareProject(stage.project);
  await using model = await startModel(script, program.naming);
  await using proxy = await startRefusingProxy();
  const invocation = program.prepare({ packages, ...stage, model: model.url, place: place });
  const { stdout, stderr, code } = await runToEnd(invocation, { ...stage, proxy: proxy.url });
  return {
    received: model.received(),
    requests: model.requests,
    unknown: model.unknown,
    outside: proxy.asked,
    output: `${stdout}\n${stderr}\nended with ${code ?? `nothing: killed after ${patience / 1000} s`}`,
  };
}

/** Runs a program that has no model, in a home and an environment of its own. */
export async function runAlone(invocation: Invocation): Promise<Ended> {
  using stage = makeStage();
  await using proxy = await startRefusingProxy();
  return await runToEnd(invocation, { ...stage, proxy: proxy.url });
}

interface Ended {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number | null;
}

const patience = 120_000;

async function runToEnd(
  { command, args, env }: Invocation,
  { home, project, proxy }: { home: string; project: string; proxy: string },
): Promise<Ended> {
  const child = spawn(command, args, {
    cwd: project,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...bareEnvironment(home, proxy), ...env },
  });
  const timer = setTimeout(() => endGroup(child.pid!), patience);
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number | null]>,
  ]);
  clearTimeout(timer);
  endGroup(child.pid!);
  return { stdout, stderr, code };
}

function bareEnvironment(home: string, proxy: string): Record<string, string> {
  return {
    PATH: `${join(process.execPath, '..')}:/usr/local/bin:/usr/bin:/bin`,
    HOME: home,
    // Codex makes no helper programs below the temporary folder.
    TMPDIR: join(home, 'tmp'),
    LANG: 'C.UTF-8',
    HTTP_PROXY: proxy,
    HTTPS_PROXY: proxy,
    http_proxy: proxy,
    https_proxy: proxy,
    NO_PROXY: '127.0.0.1,localhost',
    no_proxy: '127.0.0.1,localhost',
  };
}

/** Ends what the client has started as well. */
function endGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // All of them have ended.
  }
}

/** Whatever honours a proxy reaches nobody through this one, and is seen trying. */
async function startRefusingProxy(): Promise<AsyncDisposable & { url: string; asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url!);
    response.writeHead(403).end();
  });
  server.on('connect', (request, socket) => {
    asked.push(request.url!);
    socket.on('error', () => {}).end('HTTP/1.1 403 Forbidden\r\n\r\n');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

interface Folders extends Disposable {
  readonly home: string;
  readonly project: string;
}

function makeStage(): Folders {
  const path = mkdtempSync(join(tmpdir(), 'workcrate-client-'));
  const home = join(path, 'home');
  const project = join(path, 'project');
  for (const folder of [home, project, join(home, 'tmp')]) mkdirSync(folder);
  return {
    home,
    project,
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true, maxRetries: 3 }),
  };
}

import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { pauseMs, whyOf, type Peer } from './runs-peer.ts';
import { bareRun, python } from './runs-ways.ts';

const packageName = '@anthropic-ai/sandbox-runtime';
const installMs = 120_000;

/** The part of its interface that is used here. */
interface Manager {
  checkDependencies(): { readonly errors: readonly string[] };
  initialize(settings: object): Promise<void>;
  wrapWithSandbox(command: string): Promise<string>;
  reset(): Promise<void>;
}

const settings = {
  network: { allowedDomains: [], deniedDomains: [] },
  filesystem: { denyRead: [], allowWrite: ['.'], denyWrite: [] },
};

const walls =
  'writes, network by proxy, processes, Unix sockets; reads everything, has the uid and the environment of its caller, no limits';

/** Anthropic's sandbox-runtime, by its library, which starts once, and by its command, which starts each time. */
export async function sandboxRuntimePeers(folder: string, started: AsyncDisposableStack): Promise<Peer[]> {
  try {
    const installed = await install(folder);
    const manager = await managerOf(installed);
    const version = versionOf(installed);
    const missing = manager.checkDependencies().errors;
    if (missing.length > 0) throw new Error(`${missing.join(', ')} (Debian: ripgrep socat bubblewrap)`);
    const workspace = join(folder, 'workspace');
    mkdirSync(workspace);
    const library = await byLibrary(manager, version, workspace, started);
    return [library, byCommand(installed, version, workspace)];
  } catch (error) {
    return [{ name: packageName, walls, way: whyOf(error) }];
  }
}

/** Asks whatever registry npm is set up with. */
async function install(folder: string): Promise<string> {
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), '{ "private": true }');
  const words = ['install', '--no-audit', '--no-fund', '--ignore-scripts', packageName];
  await promisify(execFile)('npm', words, { cwd: folder, timeout: installMs });
  return join(folder, 'node_modules', packageName);
}

async function managerOf(installed: string): Promise<Manager> {
  const url = pathToFileURL(join(installed, 'dist', 'index.js')).href;
  return ((await import(url)) as { SandboxManager: Manager }).SandboxManager;
}

function versionOf(installed: string): string {
  return (JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as { version: string }).version;
}

const quoted = `${python.bare[0]} -c '${python.code}'`;

/** It looks through the folder that this process is in, for files to protect, so that is an empty one. */
async function byLibrary(
  manager: Manager,
  version: string,
  workspace: string,
  started: AsyncDisposableStack,
): Promise<Peer> {
  const here = process.cwd();
  process.chdir(workspace);
  started.defer(() => process.chdir(here));
  await manager.initialize(settings);
  started.defer(() => manager.reset());
  return {
    name: `sandbox-runtime ${version}, library`,
    walls,
    way: {
      run: async () => bareRun(['/bin/sh', '-c', await manager.wrapWithSandbox(quoted)]),
      pauseMs,
    },
  };
}

function byCommand(installed: string, version: string, workspace: string): Peer {
  const file = join(workspace, '..', 'settings.json');
  writeFileSync(file, JSON.stringify(settings));
  const words = [join(installed, 'dist', 'cli.js'), '--settings', file, '-c', quoted];
  return {
    name: `sandbox-runtime ${version}, srt`,
    walls,
    way: { run: () => bareRun([process.execPath, ...words], { cwd: workspace }), pauseMs },
  };
}

import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { TestEngine } from '../../src/ports/sandbox/docker/engine.testing.ts';

const checkout = join(import.meta.dirname, '../..');
const client = ['/usr/local/bin/docker', '/usr/bin/docker'].find(existsSync) ?? null;

export const noDocker = client === null ? 'the docker command is not installed (Debian: docker.io)' : false;

/** The docker command on the engine of a test; the builder that needs no plugin. */
export async function docker(engine: TestEngine, ...args: string[]): Promise<string> {
  return (await dockerOutput(engine, ...args)).stdout;
}

/** The same, with what the command says on stderr. */
export async function dockerOutput(
  engine: TestEngine,
  ...args: string[]
): Promise<{ stdout: string; stderr: string }> {
  const env = { PATH: '/usr/bin:/bin', HOME: '/nonexistent', DOCKER_BUILDKIT: '0' };
  const options = { env, timeout: 180_000, maxBuffer: 16 * 1024 ** 2 };
  return promisify(execFile)(client!, ['-H', `unix://${engine.socket}`, ...args], options);
}

/**
 * Builds packaging/docker/Dockerfile on a base that is made of files of this machine: its Node, its bubblewrap, and the packages
 * that `npm ci --omit=dev` would install. So no registry is asked.
 */
export async function buildImage(engine: TestEngine): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'workcrate-base-'));
  try {
    await makeBase(engine, folder);
    await docker(engine, 'build', '--network', 'none', '-t', 'base', folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  const file = join(checkout, 'packaging/docker/Dockerfile');
  await docker(
    engine,
    ...`build --network none --build-arg BASE=base -t workcrate -f ${file} ${checkout}`.split(' '),
  );
  return 'workcrate';
}

async function makeBase(engine: TestEngine, folder: string): Promise<void> {
  const root = join(folder, 'root');
  for (const program of ['/usr/bin/bwrap', '/usr/bin/setpriv', '/usr/bin/chown'])
    for (const path of [program, ...(await librariesOf(program))]) await put(path, join(root, path));
  await put(process.execPath, join(root, 'usr/bin/node'));
  for (const name of await runtimePackages())
    await cp(join(checkout, name), join(root, 'opt/workcrate', name), {
      recursive: true,
      verbatimSymlinks: true,
    });
  // The libraries stand in /usr/lib, to which /lib leads.
  const lines = [`FROM ${engine.image}`, 'COPY root/usr /usr', 'COPY root/opt /opt'];
  await writeFile(join(folder, 'Dockerfile'), lines.join('\n'));
}

async function put(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true });
  await cp(await realpath(from), to);
}

async function librariesOf(program: string): Promise<string[]> {
  const { stdout } = await promisify(execFile)('ldd', [program]);
  const found = [...stdout.matchAll(/=> (\/\S+) \(/g)].map((match) => match[1]!);
  return found.map((path) => (path.startsWith('/usr/') ? path : `/usr${path}`));
}

/** Folders of packages that are not for development alone, those inside others left out. */
async function runtimePackages(): Promise<string[]> {
  const lock = JSON.parse(await readFile(join(checkout, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean; devOptional?: boolean; optional?: boolean }>;
  };
  return Object.entries(lock.packages)
    .filter(([name, { dev, devOptional, optional }]) => name !== '' && !dev && !devOptional && !optional)
    .map(([name]) => name)
    .filter((name) => name.lastIndexOf('node_modules/') === 0 && existsSync(join(checkout, name)));
}

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';
import { cp, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { basename, delimiter, dirname, join } from 'node:path';
import { after, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { findOldNode } from './old-node.testing.ts';
import { environment as plainEnvironment, run, serve, temporaryFolder, upload } from './program.testing.ts';

const checkout = join(import.meta.dirname, '../../..');
const mostPackages = 60;

interface Manifest {
  readonly version: string;
  readonly dependencies: Record<string, string>;
}

/** What npm notes of the packages that it has installed, by their paths. */
interface Lock {
  readonly packages: Record<
    string,
    {
      readonly hasInstallScript?: boolean;
      readonly dev?: boolean;
      readonly devOptional?: boolean;
      readonly link?: boolean;
    }
  >;
}

/** Node 26 comes first on the path, and the settings of an `npm test` around this stay outside. */
const environment = Object.fromEntries(
  Object.entries({
    ...process.env,
    PATH: [dirname(process.execPath), join(checkout, 'node_modules/.bin'), process.env['PATH']].join(
      delimiter,
    ),
  }).filter(([name]) => !/^npm_(package|lifecycle|config_(local|global)_prefix)/.test(name)),
);

async function command(folder: string, name: string, ...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(name, args, {
    cwd: folder,
    env: environment,
    timeout: 300_000,
  });
  return stdout;
}

it('what is published runs on an older Node, by the Node that comes with it', async (t) => {
  const manifest = JSON.parse(await readFile(join(checkout, 'package.json'), 'utf8')) as Manifest;
  await using home = await temporaryFolder();
  await unpackBesidePackages(await packOnce(), home.path);
  const { command: oldNode, version } = await findOldNode(home.path);
  t.diagnostic(`started with Node ${version}`);
  const program = [...oldNode, join(home.path, 'node_modules/workcrate/bin/workcrate.js')];
  const env = { XDG_DATA_HOME: home.path, HOME: home.path };

  await t.test('nobody needs what is left out: types, maps, tests and sources', async () => {
    const files = await readdir(join(home.path, 'node_modules/workcrate'), { recursive: true });
    assert.deepEqual(
      files.filter((file) => /\.(?:d\.ts|map|ts)$|\.test\.|\.testing\.|^docs\/decisions/.test(file)),
      [],
    );
  });

  await t.test('what code reads beside itself is there too', async () => {
    const assets = globSync('**/*.{sql,py,cjs,mjs,csl,conf,json}', { cwd: join(checkout, 'src') });
    assert.ok(assets.length > 60, `${assets.length} files`);
    const missing = assets.filter(
      (file) => !existsSync(join(home.path, 'node_modules/workcrate/dist', file)),
    );
    assert.deepEqual(missing, []);
  });

  await t.test('a page has its script, and the guard its rules', async () => {
    const args = ['--data', join(home.path, 'page-data'), '--sandbox', 'off', '--guard', 'shipped'];
    await using server = await serve(args, { program });
    const page = await (await fetch(`${server.url}/library`, { headers: { accept: 'text/html' } })).text();
    assert.match(page, /<script>'use strict';\n[^]*<\/script>/);
    assert.equal(await server.end('SIGTERM'), 0);
  });

  await t.test('--version and doctor answer', async () => {
    const { stdout } = await run(['--version'], { program, env });
    assert.equal(stdout, `${manifest.version}\n`);
    const checked = await run(['doctor'], { program, env });
    assert.match(checked.stdout, /^ok +Node 26\./m);
    assert.match(checked.stdout, /^ok +skills: 4 that come with workcrate/m);
  });

  await t.test('a feature beside it is loaded, and one that is not there says how to get it', async () => {
    const there = await run(['ask', 'hello'], { program, env });
    assert.match(there.stderr, /^workcrate: ask needs a model: set --endpoint URL and --model NAME/);
    await rm(join(home.path, 'node_modules/@workcrate/ask'), { recursive: true });
    const absent = await run(['ask', 'hello'], { program, env });
    assert.match(absent.stderr, /^workcrate: [^\n]+ Run: npm install @workcrate\/ask\n$/);
  });

  await t.test('an MCP client connects over stdio and lists the tools', async () => {
    const client = new Client({ name: 'package suite', version: '1' });
    const [command, ...args] = [...program, 'stdio'];
    await client.connect(
      new StdioClientTransport({
        command: command!,
        args,
        env: { ...plainEnvironment, ...env, WORKCRATE_SANDBOX: 'off' },
        stderr: 'ignore',
      }),
    );
    const { tools } = await client.listTools();
    await client.close();
    assert.ok(tools.some(({ name }) => name === 'share_file'));
    recordProof('G4:npx-on-older-node');
  });
});

it('what is published can be installed into an empty folder and serves files', async (t) => {
  const manifest = JSON.parse(await readFile(join(checkout, 'package.json'), 'utf8')) as Manifest;
  if (!(await registryAnswers(t, manifest))) return;
  await using home = await temporaryFolder();
  const tarballs = await packOnce();
  await writeFile(join(home.path, 'package.json'), '{}');
  await command(home.path, 'npm', 'install', '--ignore-scripts', '--no-audit', '--no-fund', ...tarballs);

  await t.test(
    `it brings at most ${mostPackages} packages, none of which runs a script to install`,
    async () => {
      const text = await readFile(join(home.path, 'node_modules/.package-lock.json'), 'utf8');
      const installed = Object.entries((JSON.parse(text) as Lock).packages);
      t.diagnostic(`${installed.length - 1} runtime packages`);
      assert.ok(installed.length - 1 <= mostPackages, `${installed.length - 1} packages`);
      const withScripts = installed
        .filter(([, { hasInstallScript }]) => hasInstallScript)
        .map(([path]) => path);
      assert.deepEqual(withScripts, []);
    },
  );

  await t.test('npx workcrate --help and --version answer', async () => {
    assert.match(
      await command(home.path, 'npx', '--no-install', 'workcrate', '--help'),
      /Usage: npx workcrate COMMAND/,
    );
    const version = await command(home.path, 'npx', '--no-install', 'workcrate', '--version');
    assert.equal(version, `${manifest.version}\n`);
  });

  await t.test('a file goes in, comes out, and is packed and found as a crate', async () => {
    const program = [join(home.path, 'node_modules/.bin/workcrate')];
    await using server = await serve(['--data', join(home.path, 'data')], { program, cwd: home.path });
    const { file_id } = await upload(server, 'a.txt', 'hello');
    const { data } = await server.call('share_file', { file_id });
    assert.equal(await (await fetch(data.downloadUrl)).text(), 'hello');
    // These are the work of threads, each of which starts from a file of its own.
    const packed = await server.call('pack_crate', { file_ids: [file_id], title: 'A greeting' });
    assert.equal(packed.failed, false, packed.text);
    const found = await server.call('search_index', { query: 'greeting' });
    assert.equal(found.data?.results[0].crate_id, packed.data.crate_id, found.text);
    assert.equal(await server.end('SIGTERM'), 0);
  });
});

async function registryAnswers(t: TestContext, { dependencies }: Manifest): Promise<boolean> {
  try {
    const [name, version] = Object.entries(dependencies)[0]!;
    await command(
      checkout,
      'npm',
      'view',
      `${name}@${version}`,
      'name',
      '--fetch-retries=0',
      '--fetch-timeout=15000',
    );
    return true;
  } catch (error) {
    t.skip(`the npm registry cannot be reached: ${String(error).split('\n')[0]}`);
    return false;
  }
}

const copy = await temporaryFolder();
after(() => copy[Symbol.asyncDispose]());
let packing: Promise<string[]> | null = null;

/** To build it takes longer than all else here. */
const packOnce = (): Promise<string[]> => (packing ??= pack(copy.path));

/** Builds and packs a copy, so that a checkout in use is left as it is: Workcrate, and the features beside it. */
async function pack(folder: string): Promise<string[]> {
  for (const name of [
    'bin',
    'docs',
    'packages',
    'src',
    'scripts',
    'package.json',
    'tsconfig.json',
    'tsconfig.browser.json',
    'tsconfig.build.json',
  ])
    await cp(join(checkout, name), join(folder, name), { recursive: true });
  await symlink(join(checkout, 'node_modules'), join(folder, 'node_modules'));
  await command(folder, 'npm', 'run', '--silent', 'build');
  const packed = ['.', ...(await readdir(join(folder, 'packages'))).map((name) => `./packages/${name}`)];
  const tarballs = await command(folder, 'npm', 'pack', '--ignore-scripts', '--silent', ...packed);
  return tarballs
    .trim()
    .split('\n')
    .map((tarball) => join(folder, tarball));
}

/** As npm installs it, but without a registry: its packages are links to those of the checkout. */
async function unpackBesidePackages(tarballs: readonly string[], folder: string): Promise<void> {
  for (const tarball of tarballs) {
    const name = basename(tarball)
      .replace(/-\d.*/, '')
      .replace(/^workcrate-/, '@workcrate/');
    const home = join(folder, 'node_modules', name);
    await mkdir(home, { recursive: true });
    await command(folder, 'tar', '-xzf', tarball, '-C', home, '--strip-components=1');
  }
  const { packages } = JSON.parse(await readFile(join(checkout, 'package-lock.json'), 'utf8')) as Lock;
  const wanted = Object.entries(packages)
    .filter(
      ([path, { dev, devOptional, link }]) =>
        path.lastIndexOf('node_modules/') === 0 && !dev && !devOptional && !link,
    )
    .map(([path]) => path);
  for (const path of wanted.filter((one) => existsSync(join(checkout, one)))) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await symlink(join(checkout, path), join(folder, path));
  }
}

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { allSettings } from '../../src/server/settings.ts';
import { toEnvironmentName } from '../../src/platform/config/setting.ts';

const packaging = join(import.meta.dirname, '../../packaging');
const read = (name: string): Promise<string> => readFile(join(packaging, name), 'utf8');
/** Settings, and what only compose.yaml reads. */
const known = new Set([
  ...Object.keys(allSettings).map(toEnvironmentName),
  'WORKCRATE_MEMORY',
  'WORKCRATE_HTTPS_PORT',
]);
const run = promisify(execFile);

interface Service {
  readonly environment?: Record<string, string | number>;
  readonly volumes?: readonly string[];
  readonly healthcheck?: unknown;
  readonly security_opt?: readonly string[];
  readonly build?: unknown;
}

async function services(): Promise<Record<string, Service>> {
  return (parse(await read('docker/compose.yaml'), { merge: true }) as { services: Record<string, Service> })
    .services;
}

it('every setting that the files for putting it up name is one that there is', async () => {
  for (const name of ['docker/Dockerfile', 'docker/compose.yaml', 'systemd/workcrate.service']) {
    const named = (await read(name)).match(/\bWORKCRATE_\w+(?=[:=])/g) ?? [];
    assert.ok(named.length > 0, name);
    assert.deepEqual(
      named.filter((one) => !known.has(one)),
      [],
      name,
    );
  }
});

it('compose.yaml has its secrets from the environment file, and every variable stands in its example', async () => {
  const text = await read('docker/compose.yaml');
  const example = new Set((await read('docker/compose.env.example')).match(/^\w+(?==)/gm) ?? []);
  for (const [, variable] of text.matchAll(/\$\{(\w+)/g)) assert.ok(example.has(variable!), variable!);
  for (const { environment = {} } of Object.values(await services()))
    for (const [name, value] of Object.entries(environment))
      if (/PASSWORD|SECRET|ACCESS_KEY|DATABASE$/.test(name)) assert.match(String(value), /\$\{\w+:\?/, name);
});

it('compose.yaml has two servers on ports that nginx knows, files that exist, and a health check for each', async () => {
  const all = await services();
  const servers = Object.entries(all).filter(([name]) => name.startsWith('workcrate-'));
  const nginx = await read('nginx/compose-servers.conf');
  assert.equal(servers.length, 2);
  for (const [name, { environment, build }] of servers) {
    assert.ok(nginx.includes(`server ${name}:${environment!['WORKCRATE_PORT']};`), name);
    assert.deepEqual(build, { context: '../..', dockerfile: 'packaging/docker/Dockerfile' });
  }
  for (const [name, { volumes = [], healthcheck }] of Object.entries(all)) {
    // The image of Workcrate brings its own.
    assert.equal(healthcheck !== undefined, !name.startsWith('workcrate-'), name);
    const files = volumes.map((volume) => volume.split(':')[0]!).filter((path) => path.endsWith('.conf'));
    for (const path of files) assert.ok(existsSync(join(packaging, 'docker', path)), path);
  }
});

it('nginx sends sessions to their server in compose.yaml as it does for two servers beside it', async () => {
  const plain = (text: string): string =>
    text.replaceAll(/^#.*\n/gm, '').replaceAll(/workcrate-[ab]:/g, '127.0.0.1:');
  const squeezed = (text: string): string => plain(text).replaceAll(/\n\n+/g, '\n').trim();
  assert.equal(
    squeezed(await read('nginx/compose-servers.conf')),
    squeezed(await read('nginx/two-servers.conf')),
  );
});

const compose = existsSync('/usr/bin/docker-compose') ? '/usr/bin/docker-compose' : null;

it(
  'compose.yaml is taken by docker-compose',
  { skip: compose === null && 'docker-compose is not installed (Debian: docker-compose)' },
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'workcrate-compose-'));
    try {
      // Version 1, which Debian has, does not know this line.
      await writeFile(
        join(folder, 'compose.yaml'),
        (await read('docker/compose.yaml')).replace(/^name:.*\n/m, ''),
      );
      const filled = (await read('docker/compose.env.example')).replaceAll(/=$/gm, '=filled-in');
      await writeFile(join(folder, 'env'), filled);
      const args = ['--env-file', join(folder, 'env'), '-f', join(folder, 'compose.yaml'), 'config'];
      const { stdout } = await run(compose!, args, { cwd: folder });
      assert.match(stdout, /workcrate-b:/);
      assert.match(stdout, /postgres:\/\/workcrate:filled-in@postgres:5432/);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
);

const analyze = existsSync('/usr/bin/systemd-analyze') ? '/usr/bin/systemd-analyze' : null;

it(
  'workcrate.service is one that systemd reads, and more confined than most',
  { skip: analyze === null && 'systemd-analyze is not installed (Debian: systemd)' },
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'workcrate-unit-'));
    try {
      const unit = join(folder, 'workcrate.service');
      // There need not be a checkout in /opt here.
      await writeFile(
        unit,
        (await read('systemd/workcrate.service')).replace(/^ExecStart=\S+/m, `ExecStart=${process.execPath}`),
      );
      const { stderr } = await run(analyze!, ['verify', '--man=no', unit]);
      assert.doesNotMatch(stderr, /workcrate\.service/);
      await run(analyze!, ['security', '--offline=true', '--threshold=40', unit]);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
);

it('the unit and each server of compose.yaml name the sandbox, so that none starts without it', async () => {
  assert.match(await read('systemd/workcrate.service'), /^Environment=WORKCRATE_SANDBOX=bubblewrap$/m);
  const servers = Object.entries(await services()).filter(([name]) => name.startsWith('workcrate-'));
  assert.equal(servers.length, 2);
  for (const [name, { environment }] of servers)
    assert.equal(environment!['WORKCRATE_SANDBOX'], 'bubblewrap', name);
});

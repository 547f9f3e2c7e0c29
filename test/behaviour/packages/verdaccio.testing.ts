import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { freePort } from '../../../src/platform/free-port.testing.ts';
import {
  describeForRegistry,
  makeTarball,
  type TestNodePackage,
} from '../../../src/features/packages/registries.testing.ts';
import { installClients } from '../../clients/packages.testing.ts';

/** A registry of its own on loopback, which asks no other and takes packages from everybody. */
const toConfig = (folder: string): string => `storage: ${folder}/storage
uplinks: {}
packages:
  '**': { access: $all, publish: $all }
log: { type: stdout, level: error }
web: { enable: false }
`;

export interface Verdaccio extends AsyncDisposable {
  readonly url: string;
  publish(given: TestNodePackage): Promise<void>;
}

/** The real one, from npm; or why it cannot be had. */
export async function startVerdaccio(): Promise<Verdaccio | { reason: string }> {
  const clients = await installClients();
  if ('reason' in clients) return clients;
  const folder = mkdtempSync(join(tmpdir(), 'workcrate-verdaccio-'));
  const config = join(folder, 'config.yaml');
  writeFileSync(config, toConfig(folder));
  const url = `http://127.0.0.1:${await freePort()}/`;
  const program = join(clients.folder, 'verdaccio/bin/verdaccio');
  const child = spawn(process.execPath, [program, '--config', config, '--listen', url], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'ignore'],
  });
  await eventually(async () => (await fetch(`${url}-/ping`).catch(() => null))?.ok === true);
  return {
    url,
    publish: (given) => publish(url, given),
    async [Symbol.asyncDispose]() {
      const ended = once(child, 'exit');
      child.kill();
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** As `npm publish` does it. */
async function publish(url: string, given: TestNodePackage): Promise<void> {
  const { name, version } = given;
  const bytes = makeTarball(given);
  const file = `${name}-${version}.tgz`;
  const described = describeForRegistry(given, url.replace(/\/$/, ''));
  const answer = await fetch(`${url}${encodeURIComponent(name)}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      _id: name,
      name,
      'dist-tags': { latest: version },
      versions: { [version]: { ...described, _id: `${name}@${version}` } },
      _attachments: {
        [file]: {
          content_type: 'application/octet-stream',
          data: bytes.toString('base64'),
          length: bytes.length,
        },
      },
    }),
  });
  if (!answer.ok) throw new Error(`verdaccio does not take ${name}: ${answer.status} ${await answer.text()}`);
}

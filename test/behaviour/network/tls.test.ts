import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { it } from 'node:test';
import { openAuthority } from '../../../src/features/network/authority.ts';
import { serve, temporaryFolder } from '../cli/program.testing.ts';
import { noSandbox } from '../../code.testing.ts';

const hosts = ['secret.test', 'other.test'];

/** A server on loopback that stands for two outside, with a certificate that only this test's authority has signed. */
async function startSecureSite(folder: string) {
  const authority = openAuthority(join(folder, 'outside'), hosts);
  const seen: { url: string; headers: IncomingHttpHeaders }[] = [];
  const site = createServer(
    { SNICallback: (name, done) => done(null, authority.issue(name)) },
    (request, response) => {
      seen.push({ url: request.url!, headers: request.headers });
      response.end('hello');
    },
  );
  await once(site.listen(0, '127.0.0.1'), 'listening');
  const { port } = site.address() as AddressInfo;
  return {
    authority,
    seen,
    port,
    [Symbol.asyncDispose]: async () => {
      site.closeAllConnections();
      site.close();
    },
  };
}

const fetchIt = (url: string): string => `import ssl, urllib.request
try: print(urllib.request.urlopen('${url}', timeout=10).read().decode())
except OSError as error: print('no', error)
try: print(urllib.request.urlopen('${url}', timeout=10, context=ssl._create_unverified_context()).read().decode())
except OSError as error: print('no', error)`;

it(
  'over TLS, a secret is added for its host by a certificate that runs trust; other hosts are passed through',
  { skip: noSandbox },
  async () => {
    await using folder = await temporaryFolder();
    await using site = await startSecureSite(folder.path);
    const [secrets, trusted] = [join(folder.path, 'secrets.yaml'), join(folder.path, 'outside.pem')];
    const entry = '{ name: key, host: secret.test, header: X-Key, value: s3cret-v4lue }';
    await writeFile(secrets, `secrets:\n  - ${entry}\n`, { mode: 0o600 });
    await writeFile(trusted, site.authority.certificate);
    const at = `127.0.0.1:${site.port}`;
    const addresses = hosts.map((host) => `${host}=${at}`).join(',');
    const allowed = ['--sandbox-network', `allow:${hosts.join(',')}`, '--network-addresses', addresses];
    const args = [
      '--data',
      join(folder.path, 'data'),
      ...allowed,
      '--network-secrets',
      secrets,
      '--network-tls',
    ];
    const env = { WORKCRATE_SANDBOX: 'bubblewrap', NODE_EXTRA_CA_CERTS: trusted };
    await using program = await serve(args, { env });
    const run = async (url: string) =>
      (await program.call('execute_code', { language: 'python', code: fetchIt(url) })).data;
    const added = await run('https://secret.test/a');
    assert.equal(added.stdout, 'hello\nhello\n', added.stderr);
    assert.deepEqual(
      site.seen.map(({ headers }) => headers['x-key']),
      ['s3cret-v4lue', 's3cret-v4lue'],
    );
    assert.deepEqual(added.network.hosts[0].secrets, ['key']);
    // The certificate is the site's own, which nobody inside has reason to trust.
    const through = await run('https://other.test/b');
    assert.match(through.stdout, /^no .*certificate verify failed.*\nhello\n$/is);
    assert.equal(site.seen.at(-1)!.headers['x-key'], undefined);
    const node = {
      language: 'node',
      code: "console.log(await (await fetch('https://secret.test/c')).text())",
    };
    assert.equal((await program.call('execute_code', node)).data.stdout, 'hello\n');
    assert.equal(site.seen.at(-1)!.headers['x-key'], 's3cret-v4lue');
  },
);

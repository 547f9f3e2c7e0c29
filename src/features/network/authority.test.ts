import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { connect, createServer, type SecureContext } from 'node:tls';
import { openAuthority } from './authority.ts';
import { getPort } from './outside.testing.ts';

function temporary(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), 'workcrate-authority-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** What a client sees of a server with this context, or why it does not take it. */
async function shake(
  context: SecureContext,
  ca: string,
  servername: string,
): Promise<X509Certificate | string> {
  const server = createServer({ SNICallback: (_, done) => done(null, context) });
  server.on('tlsClientError', () => {});
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const socket = connect({ host: '127.0.0.1', port: getPort(server), ca, servername });
  try {
    await once(socket, 'secureConnect');
    return socket.getPeerX509Certificate()!;
  } catch (error) {
    return (error as Error).message;
  } finally {
    socket.destroy();
    server.close();
    await once(server, 'close');
  }
}

async function shakeInVain(context: SecureContext, ca: string, servername: string): Promise<string> {
  const seen = await shake(context, ca, servername);
  assert.ok(typeof seen === 'string');
  return seen;
}

it('a client that trusts the authority takes a host for what it is, and no other', async () => {
  using folder = temporary();
  const authority = openAuthority(folder.path, ['secret.example', 'b.example']);
  const leaf = await shake(authority.issue('secret.example'), authority.certificate, 'secret.example');
  assert.ok(leaf instanceof X509Certificate);
  const root = new X509Certificate(authority.certificate);
  assert.ok(root.ca && root.verify(root.publicKey) && root.checkIssued(root));
  assert.ok(!leaf.ca && leaf.verify(root.publicKey) && leaf.checkIssued(root));
  assert.equal(leaf.checkHost('secret.example'), 'secret.example');
  assert.equal(leaf.checkHost('x.secret.example'), undefined);
  assert.equal(leaf.subjectAltName, 'DNS:secret.example');
  assert.match(
    await shakeInVain(authority.issue('secret.example'), authority.certificate, 'b.example'),
    /does not match certificate's altnames/,
  );
  const days = (leaf.validToDate.getTime() - Date.now()) / 86_400_000;
  assert.ok(days > 6 && days < 8);
});

it('the authority is good for its hosts alone, whoever has its key', async () => {
  using folder = temporary();
  const authority = openAuthority(folder.path, ['secret.example']);
  assert.match(
    await shakeInVain(authority.issue('evil.org'), authority.certificate, 'evil.org'),
    /permitted subtree violation/,
  );
});

it('OpenSSL verifies the chain, strictly, and reads every extension', async (t) => {
  if (spawnSync('openssl', ['version']).error) return t.skip('openssl is not installed');
  using folder = temporary();
  const authority = openAuthority(folder.path, ['secret.example', 'b.example']);
  const root = join(folder.path, 'root.pem');
  writeFileSync(root, authority.certificate);
  const run = (...words: string[]): string => {
    const { status, stdout, stderr } = spawnSync('openssl', words, { encoding: 'utf8' });
    assert.equal(status, 0, stderr + stdout);
    return stdout;
  };
  const leaf = await shake(authority.issue('b.example'), authority.certificate, 'b.example');
  const own = join(folder.path, 'leaf.pem');
  writeFileSync(own, leaf.toString());
  run('verify', '-x509_strict', '-CAfile', root, root);
  run(
    'verify',
    '-x509_strict',
    '-purpose',
    'sslserver',
    '-verify_hostname',
    'b.example',
    '-CAfile',
    root,
    own,
  );
  const text = run('x509', '-in', root, '-noout', '-text');
  for (const part of [
    'CA:TRUE, pathlen:0',
    'Certificate Sign',
    'DNS:secret.example',
    'DNS:b.example',
    'IP:0.0.0.0/0.0.0.0',
    'ecdsa-with-SHA256',
    'prime256v1',
  ])
    assert.ok(text.includes(part), part);
});

it('it is kept with its key for the server alone, and stays the same', () => {
  using folder = temporary();
  const path = join(folder.path, 'a/b');
  const first = openAuthority(path, ['b.example', 'a.example']);
  assert.equal(openAuthority(path, ['a.example', 'b.example']).certificate, first.certificate);
  const file = join(path, 'authority.pem');
  assert.deepEqual([statSync(path).mode & 0o777, statSync(file).mode & 0o777], [0o700, 0o600]);
  assert.ok(!first.certificate.includes('PRIVATE'));
});

it('another one is made where hosts change, time runs out, or the file is damaged', () => {
  using folder = temporary();
  const { path } = folder;
  const file = join(path, 'authority.pem');
  const day = 86_400_000;
  const first = openAuthority(path, ['a.example']).certificate;
  const second = openAuthority(path, ['a.example', 'b.example']).certificate;
  assert.notEqual(second, first);
  assert.equal(
    openAuthority(path, ['a.example', 'b.example'], () => Date.now() + 300 * day).certificate,
    second,
  );
  const third = openAuthority(path, ['a.example', 'b.example'], () => Date.now() + 310 * day).certificate;
  assert.notEqual(third, second);
  const text = readFileSync(file, 'utf8');
  for (const damaged of [
    '',
    'nonsense',
    text.slice(0, -300),
    text.replace(third, second),
    text.replaceAll(/[A-Z]{4}/g, 'AAAA'),
  ]) {
    writeFileSync(file, damaged);
    const next = openAuthority(path, ['a.example', 'b.example']).certificate;
    assert.ok(new X509Certificate(next).ca);
    assert.equal(openAuthority(path, ['a.example', 'b.example']).certificate, next);
  }
});

it('certificates of hosts are kept for a while, and renewed before they end', () => {
  using folder = temporary();
  let now = Date.now();
  const authority = openAuthority(folder.path, ['a.example'], () => now);
  const first = authority.issue('a.example');
  now += 4 * 86_400_000;
  assert.equal(authority.issue('a.example'), first);
  now += 2 * 86_400_000;
  assert.notEqual(authority.issue('a.example'), first);
});

/**
 * The local certificate authority, with which the proxy ends TLS for hosts that have a secret. Only sandboxes trust it.
 * It is made once, and kept in a folder that belongs to the server; it is good for those hosts alone, and is made anew
 * when they change or when it is about to expire.
 */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  X509Certificate,
} from 'node:crypto';
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { createSecureContext, type SecureContext } from 'node:tls';
import type { Clock } from '../../platform/clock.ts';
import { BoundedMap } from '../../platform/concurrency/bounded-map.ts';
import { getErrno } from '../../platform/errors.ts';
import { makeAuthorityCertificate, makeHostCertificate, type Signer } from './certificate.ts';

export interface CertificateAuthority {
  /** What the sandbox has to trust, as PEM. */
  readonly certificate: string;
  /** What the proxy shows as the host. */
  issue(host: string): SecureContext;
}

const dayMs = 86_400_000;
const authorityDays = 365;
/** With less than that to go, the next start makes a new one. */
const minAuthorityDays = 60;
const hostDays = 7;
const minHostDays = 2;
/** Clocks of machines differ a little. */
const leewayMs = 3_600_000;
const maxHostCertificates = 200;

export function openAuthority(
  folder: string,
  hosts: readonly string[],
  clock: Clock = Date.now,
): CertificateAuthority {
  const wanted = [...new Set(hosts)].sort();
  const kept = readKeptAuthority(folder);
  const isGood =
    kept !== null && kept.hosts === wanted.join(',') && kept.until > clock() + minAuthorityDays * dayMs;
  const { signer, certificate } = isGood ? kept : makeKept(folder, wanted, clock);
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' });
  const issued = new BoundedMap<string, { context: SecureContext; until: number }>({
    mostEntries: maxHostCertificates,
  });
  return {
    certificate,
    issue(host) {
      const known = issued.use(host);
      if (known !== undefined && known.until > clock() + minHostDays * dayMs) return known.context;
      const until = clock() + hostDays * dayMs;
      const cert = makeHostCertificate(signer, host, publicKey, { from: clock() - leewayMs, until });
      const context = createSecureContext({ key, cert, minVersion: 'TLSv1.2' });
      issued.set(host, { context, until });
      return context;
    },
  };
}

interface KeptAuthority {
  readonly signer: Signer;
  readonly certificate: string;
  /** Those that it is good for, with commas between. */
  readonly hosts: string;
  readonly until: number;
}

/** One file has both, so that a crash cannot leave the key of one authority with the certificate of another. */
const fileName = 'authority.pem';

/** Null where there is none, or none that can be read: then a new one takes its place. */
function readKeptAuthority(folder: string): KeptAuthority | null {
  const text = readIfThere(join(folder, fileName));
  const [, hosts, key, certificate] =
    /^hosts: (.*)\n(-----BEGIN PRIVATE KEY-----[^]*?-----END PRIVATE KEY-----\n)(-----BEGIN CERTIFICATE-----[^]*)$/.exec(
      text ?? '',
    ) ?? [];
  if (certificate === undefined) return null;
  try {
    const parsed = new X509Certificate(certificate);
    const privateKey = createPrivateKey(key!);
    if (!parsed.checkPrivateKey(privateKey)) return null;
    const name = /^CN=(.*)$/m.exec(parsed.subject)![1]!;
    const signer = { key: privateKey, publicKey: createPublicKey(privateKey), name };
    return { signer, certificate, hosts: hosts!, until: parsed.validToDate.getTime() };
  } catch (error) {
    // What OpenSSL cannot read has a code of OpenSSL's.
    if (String((error as { code?: unknown }).code).startsWith('ERR_OSSL')) return null;
    throw error;
  }
}

function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (getErrno(error) === 'ENOENT') return null;
    throw error;
  }
}

function makeKept(folder: string, hosts: readonly string[], clock: Clock): KeptAuthority {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  // Another name each time, so that nobody takes a new one for the old one.
  const name = `Workcrate sandbox proxy ${randomBytes(4).toString('hex')}`;
  const signer = { key: privateKey, publicKey, name };
  const until = clock() + authorityDays * dayMs;
  const certificate = makeAuthorityCertificate(signer, hosts, { from: clock() - leewayMs, until });
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' });
  writeKept(folder, `hosts: ${hosts.join(',')}\n${key}${certificate}`);
  return { signer, certificate, hosts: hosts.join(','), until };
}

function writeKept(folder: string, text: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // What a crash left of it is written over.
  const staged = join(folder, `${fileName}.new`);
  const file = openSync(staged, 'w', 0o600);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(staged, join(folder, fileName));
}

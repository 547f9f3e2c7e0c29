/**
 * Makes the two kinds of X.509 certificates that the proxy needs: that of its own authority, limited to some hosts, and
 * those of single hosts. Node's crypto signs; it has nothing that writes certificates. Keys are ECDSA P-256.
 */
import { hash, randomBytes, sign, type KeyObject } from 'node:crypto';
import {
  encodeBitString,
  encodeInteger,
  numberedField,
  objectIdentifier,
  encodeOctetString,
  sequence,
  set,
  time,
  trueValue,
  utf8String,
} from './der.ts';

export interface Validity {
  readonly from: number;
  readonly until: number;
}

export interface Signer {
  readonly key: KeyObject;
  readonly publicKey: KeyObject;
  /** The name of the authority, by which those who check a certificate find it. */
  readonly name: string;
}

/** Signed by its own key. It is good for these hosts and those below them, and for no address. */
export function makeAuthorityCertificate(
  signer: Signer,
  hosts: readonly string[],
  validity: Validity,
): string {
  return makeCertificate(signer, signer.name, signer.publicKey, validity, [
    extension('2.5.29.19', 'critical', sequence(trueValue(), encodeInteger(Buffer.from([0])))),
    extension('2.5.29.15', 'critical', encodeBitString(Buffer.from([keyCertSign]), 2)),
    extension('2.5.29.14', 'plain', encodeOctetString(toKeyId(signer.publicKey))),
    extension('2.5.29.30', 'critical', toNameConstraints(hosts)),
  ]);
}

/** For a server that calls itself by this one name. */
export function makeHostCertificate(
  signer: Signer,
  host: string,
  publicKey: KeyObject,
  validity: Validity,
): string {
  const name = numberedField(2, Buffer.from(host, 'ascii'), 'value');
  return makeCertificate(signer, host.length <= maxCommonNameLength ? host : 'host', publicKey, validity, [
    extension('2.5.29.19', 'critical', sequence()),
    extension('2.5.29.15', 'critical', encodeBitString(Buffer.from([digitalSignature]), 7)),
    extension('2.5.29.37', 'plain', sequence(objectIdentifier('1.3.6.1.5.5.7.3.1'))),
    extension('2.5.29.17', 'plain', sequence(name)),
    extension('2.5.29.14', 'plain', encodeOctetString(toKeyId(publicKey))),
    extension('2.5.29.35', 'plain', sequence(numberedField(0, toKeyId(signer.publicKey), 'value'))),
  ]);
}

const keyCertSign = 0x04;
const digitalSignature = 0x80;
/** Of a common name. The name that counts is in an extension, and may be longer. */
const maxCommonNameLength = 64;

function makeCertificate(
  signer: Signer,
  subject: string,
  publicKey: KeyObject,
  { from, until }: Validity,
  extensions: readonly Buffer[],
): string {
  const algorithm = sequence(objectIdentifier('1.2.840.10045.4.3.2'));
  const signed = sequence(
    numberedField(0, encodeInteger(Buffer.from([2])), 'inside'),
    encodeInteger(randomBytes(16)),
    algorithm,
    toName(signer.name),
    sequence(time(from), time(until)),
    toName(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    numberedField(3, sequence(...extensions), 'inside'),
  );
  return toPem(sequence(signed, algorithm, encodeBitString(sign('sha256', signed, signer.key))));
}

const toName = (text: string): Buffer =>
  sequence(
    set(sequence(objectIdentifier('2.5.4.10'), utf8String('Workcrate'))),
    set(sequence(objectIdentifier('2.5.4.3'), utf8String(text))),
  );

const extension = (id: string, weight: 'critical' | 'plain', value: Buffer): Buffer =>
  sequence(objectIdentifier(id), ...(weight === 'critical' ? [trueValue()] : []), encodeOctetString(value));

/** Names of these hosts are permitted; addresses of both kinds are excluded. */
function toNameConstraints(hosts: readonly string[]): Buffer {
  const permitted = hosts.map((host) => sequence(numberedField(2, Buffer.from(host, 'ascii'), 'value')));
  const excluded = [8, 32].map((length) => sequence(numberedField(7, Buffer.alloc(length), 'value')));
  return sequence(
    numberedField(0, Buffer.concat(permitted), 'inside'),
    numberedField(1, Buffer.concat(excluded), 'inside'),
  );
}

const toKeyId = (key: KeyObject): Buffer =>
  hash('sha256', key.export({ type: 'spki', format: 'der' }), 'buffer').subarray(0, 20);

function toPem(der: Buffer): string {
  const lines = der.toString('base64').replaceAll(/.{64}(?!$)/g, '$&\n');
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`;
}

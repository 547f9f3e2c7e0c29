/**
 * What the proxy answers in place of the outside: a status and a text that says which host, why, and what to do, since
 * an agent reads it. It never has a header, a body or a secret in it.
 */
import { STATUS_CODES, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { HostAndPort } from '../../platform/net/host-names.ts';
import { describeAllowed, type HostRules } from '../../platform/net/host-rules.ts';

/** Why something was refused, for the record of the run. */
export type EgressRefusalKind =
  | 'host_not_allowed'
  | 'port_not_allowed'
  | 'ip_address'
  | 'private_address'
  | 'wrong_tls'
  | 'bad_request'
  | 'too_many'
  | 'too_slow';

/** As far as it is known: the host is empty where none can be read. */
export interface RefusedTarget {
  readonly host: string;
  readonly port: number | null;
}

const unknownTarget: RefusedTarget = { host: '', port: null };

export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  /** Null where the outside failed, and nothing was refused. */
  readonly kind: EgressRefusalKind | null;
  readonly target: RefusedTarget;

  constructor(status: number, kind: EgressRefusalKind | null, message: string, target = unknownTarget) {
    super(message);
    this.status = status;
    this.kind = kind;
    this.target = target;
  }
}

export const refuseBadRequest = (why: string, status = 400, target = unknownTarget): Refusal =>
  new Refusal(
    status,
    'bad_request',
    `The proxy of this sandbox does not carry this request: ${why}.`,
    target,
  );

export const refuseHost = (target: HostAndPort, rules: HostRules): Refusal =>
  new Refusal(
    403,
    'host_not_allowed',
    `${target.host} is not allowed in this sandbox. ${describeAllowed(rules)} Use one of these, or ask the operator to allow it (--sandbox-network).`,
    target,
  );

export const refusePort = (target: HostAndPort, rules: HostRules): Refusal =>
  new Refusal(
    403,
    'port_not_allowed',
    `Port ${target.port} of ${target.host} is not allowed in this sandbox. ${describeAllowed(rules)} A host without a port has 80 and 443.`,
    target,
  );

export const refuseAddress = (target: RefusedTarget): Refusal =>
  new Refusal(
    403,
    'ip_address',
    'Addresses are not allowed in this sandbox: use the name of the host.',
    target,
  );

/** It does not say which address it is: that is nobody's business inside. */
export const refusePrivate = (target: HostAndPort): Refusal =>
  new Refusal(
    403,
    'private_address',
    `${target.host} is at a private address, and those are refused. If it is a server of the operator, the operator can name it (--network-addresses).`,
    target,
  );

export const refuseTls = (target: HostAndPort, why: string): Refusal =>
  new Refusal(
    403,
    'wrong_tls',
    `A tunnel to ${target.host} carries TLS to ${target.host} alone: ${why}.`,
    target,
  );

export const refuseMany = (what: string, target = unknownTarget): Refusal =>
  new Refusal(429, 'too_many', what, target);

export const refuseSlow = (what: string, target: HostAndPort): Refusal =>
  new Refusal(408, 'too_slow', what, target);

export const reportFailure = (status: 502 | 504, what: string): Refusal => new Refusal(status, null, what);

/** Many programs show nothing of a refused tunnel but the first line of the answer, so it has the reason too. */
function toReason(refusal: Refusal): string {
  const [sentence = ''] = /^[\x20-\x7e]{0,160}/.exec(refusal.message) ?? [];
  return sentence === '' ? (STATUS_CODES[refusal.status] ?? 'Refused') : sentence;
}

export function sendRefusal(res: ServerResponse, refusal: Refusal): void {
  const body = Buffer.from(`${refusal.message}\n`);
  const headers = { 'Content-Type': 'text/plain; charset=utf-8', 'Content-Length': body.length };
  // After nonsense nobody knows where the next request begins.
  const ending = refusal.kind === 'bad_request' ? { Connection: 'close' } : {};
  res.writeHead(refusal.status, toReason(refusal), { ...headers, ...ending }).end(body);
}

/** Where there is no response object. What has been ended already stays as it is. */
export function endWithRefusal(stream: Duplex, refusal: Refusal): void {
  if (stream.writableEnded || stream.destroyed) return;
  stream.end(toRawAnswer(refusal), () => stream.destroy());
}

export function toRawAnswer(refusal: Refusal): string {
  const body = `${refusal.message}\n`;
  return [
    `HTTP/1.1 ${refusal.status} ${toReason(refusal)}`,
    'Content-Type: text/plain; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
    '',
    body,
  ].join('\r\n');
}

/**
 * A tunnel for TLS (HTTP CONNECT). Before a byte goes out, its first message has to be a ClientHello for the very host
 * that the tunnel was asked for. What is inside is not read; `interception.ts` is for hosts with a secret.
 */
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { toAddressLiteral } from '../../platform/net/addresses.ts';
import type { HostAndPort } from '../../platform/net/host-names.ts';
import { readClientHello, type ClientHello } from './client-hello.ts';
import type { Inlet } from './inlet.ts';
import { watchProgress, type EgressLimits } from './limits.ts';
import { pieceUnits, pump, type TrafficPace } from './pace.ts';
import { Refusal, refuseSlow, refuseTls, reportFailure, toRawAnswer } from './refusal.ts';

/**
 * Tells the client to begin, and gives the bytes that it began with. If they are not as they have to be, the tunnel is
 * ended, and the refusal is thrown for the record.
 */
export async function openTunnel(
  stream: Duplex,
  head: Buffer,
  target: HostAndPort,
  { helloMs }: EgressLimits,
): Promise<Buffer> {
  stream.write('HTTP/1.1 200 Connection established\r\n\r\n');
  const bytes: Buffer[] = [];
  try {
    const hello = await collectHello(stream, head, bytes, target, helloMs);
    const fault = findNameFault(hello, target.host);
    if (fault !== null) throw refuseTls(target, fault);
    return Buffer.concat(bytes);
  } catch (error) {
    if (error instanceof Refusal) endTunnel(stream, error, bytes[0]?.[0] === tlsHandshake);
    throw error;
  }
}

/** A client of an address names none: the standard does not allow it. */
function findNameFault({ serverName, isEncrypted }: ClientHello, host: string): string | null {
  if (isEncrypted) return 'the client encrypts the name of the host (ECH), so that it cannot be checked';
  const expected = toAddressLiteral(host) === null ? host : null;
  if (serverName?.toLowerCase() === expected || serverName === expected) return null;
  if (serverName === null) return 'the client does not name the host (SNI)';
  return 'the client names another host (SNI)';
}

/** Collects into `bytes` until the ClientHello is there; the rest stays in the stream. */
async function collectHello(
  stream: Duplex,
  head: Buffer,
  bytes: Buffer[],
  target: HostAndPort,
  ms: number,
): Promise<ClientHello> {
  const { promise, resolve, reject } = Promise.withResolvers<ClientHello>();
  const add = (chunk: Buffer): void => {
    bytes.push(chunk);
    const reading = readClientHello(Buffer.concat(bytes));
    if (reading.state === 'incomplete') return;
    stream.pause();
    if (reading.state === 'bad') reject(refuseTls(target, reading.why));
    else resolve(reading.hello);
  };
  // Who goes without a word has not tried anything.
  const end = (): void =>
    reject(
      bytes.length === 0
        ? reportFailure(502, 'The tunnel was left.')
        : refuseTls(target, 'it broke off before TLS began'),
    );
  const late = (): void => reject(refuseSlow('No TLS came through the tunnel.', target));
  const timer = setTimeout(late, ms).unref();
  stream.on('data', add).once('end', end).once('close', end);
  if (head.length > 0) add(head);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    stream.off('data', add).off('end', end).off('close', end);
  }
}

/** Sends what was collected, then everything, both ways, until both are done or one breaks. */
export function joinTunnel(
  stream: Duplex,
  upstream: Socket,
  inlet: Inlet,
  first: Buffer,
  pace: TrafficPace,
  { idleMs }: EgressLimits,
): void {
  const watch = watchProgress(
    () => upstream.bytesRead + upstream.bytesWritten,
    { ms: idleMs },
    () => upstream.destroy(),
  );
  upstream.once('close', (hadError) => {
    watch[Symbol.dispose]();
    // What has come is still to be read on the other side, unless something broke.
    if (hadError || !stream.writableEnded) stream.destroy();
  });
  stream.once('close', () => upstream.destroy());
  upstream.write(first);
  pump(stream, upstream, pace, pieceUnits.read);
  inlet.pump(upstream, stream, pace);
}

/** Once a tunnel is open, a client that speaks TLS understands an alert alone; anything else gets the text. */
function endTunnel(stream: Duplex, refusal: Refusal, isTls: boolean): void {
  stream.end(isTls ? accessDenied : toRawAnswer(refusal), () => stream.destroy());
}

const tlsHandshake = 22;
/** A fatal alert of TLS: access_denied. */
const accessDenied = Buffer.from([21, 3, 1, 0, 2, 2, 49]);

import type { Readable, Writable } from 'node:stream';
import { ProtocolErrorCode, type Transport } from '@modelcontextprotocol/server';
import type { Log } from '../../log.ts';
import type { Heading } from './heading.ts';
import { boundedLines } from './lines.ts';
import { isMisread, readMessage, type Misread } from './reading.ts';
import { formatBytes } from '../../text.ts';

/** As much as the largest input of a tool can take, were each of its characters escaped (bridge/cache/tools.ts). */
const mostMessageBytes = 32 * 1024 * 1024;

export interface StdioOptions {
  readonly input: Readable;
  readonly output: Writable;
  readonly log: Log;
}

/**
 * MCP on two streams. What is too large or no message is answered with an error, and the connection goes on; the
 * transport of the SDK closes it for the one, and says nothing to the other. While nobody takes what is written, nothing
 * more is answered.
 */
export function createStdioTransport({ input, output, log }: StdioOptions): Transport {
  const lines = boundedLines({ mostBytes: mostMessageBytes, tooLarge });
  let isClosed = false;
  const transport: Transport = {
    async start() {
      output.on('error', failed);
      input.on('error', failed);
      lines.on('data', receive).once('end', () => void transport.close());
      input.pipe(lines);
    },
    async send(message) {
      if (isClosed) throw new Error('The connection is closed.');
      await write(message);
    },
    async close() {
      if (isClosed) return;
      isClosed = true;
      // What is still read from keeps the process.
      input.unpipe(lines).pause();
      transport.onclose?.();
    },
  };
  return transport;

  /** Resolves once there is room for more. */
  async function write(message: object): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const written = (error: Error | null | undefined): void => (error ? reject(error) : resolve());
    if (output.write(`${JSON.stringify(message)}\n`, written)) resolve();
    else hold();
    return promise;
  }

  function hold(): void {
    if (lines.isPaused()) return;
    lines.pause();
    output.once('drain', () => lines.resume());
  }

  function receive(line: Buffer): void {
    const read = isClosed ? null : readMessage(line);
    if (read === null) return;
    if (isMisread(read)) misread(read, line.length);
    else transport.onmessage?.(read);
  }

  function failed(error: Error): void {
    if (isClosed) return;
    transport.onerror?.(error);
    void transport.close();
  }

  function tooLarge(heading: Heading, bytes: number): void {
    log.warn('stdio.too_large', { bytes, limit: mostMessageBytes, answered: heading.id !== null });
    if (heading.id !== null) refuse(heading, ProtocolErrorCode.InvalidRequest, tooMuch);
  }

  function misread({ code, why, ...heading }: Misread, bytes: number): void {
    log.warn('stdio.misread', { bytes, code });
    refuse(heading, code, why);
  }

  /** Who asked is told that no answer will come: the client, or, where it was the client's answer, we ourselves. */
  function refuse({ id, hasMethod }: Heading, code: ProtocolErrorCode, message: string): void {
    const failure = { jsonrpc: '2.0', id, error: { code, message } } as const;
    if (!hasMethod && id !== null) transport.onmessage?.({ ...failure, id });
    else write(failure).catch((error: unknown) => log.warn('stdio.error', { error }));
  }
}

const tooMuch =
  `A message over stdio may have at most ${formatBytes(mostMessageBytes)}, and this one had more. ` +
  'Send less at once; send files with request_upload, or read_client_file with via: "upload".';

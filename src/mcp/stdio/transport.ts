import type { Readable, Writable } from 'node:stream';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { ProtocolErrorCode } from '@modelcontextprotocol/server';
import type { Log } from '../../log.ts';
import type { Heading } from './heading.ts';
import { boundedLines } from './lines.ts';

/** As much as the largest input of a tool can take, were each of its characters escaped (bridge/cache/tools.ts). */
const mostMessageBytes = 32 * 1024 * 1024;

export interface StdioOptions {
  readonly input: Readable;
  readonly output: Writable;
  readonly log: Log;
}

/** MCP on two streams. A message that is too large is answered with an error, and the connection goes on. */
export function createStdioTransport({ input, output, log }: StdioOptions): StdioServerTransport {
  const lines = boundedLines({ mostBytes: mostMessageBytes, tooLarge });
  // The bound of the SDK closes the connection without a word, so ours is the one that is met.
  const transport = new StdioServerTransport(lines, output, { maxBufferSize: 2 * mostMessageBytes });
  const close = transport.close.bind(transport);
  input.pipe(lines);
  return Object.assign(transport, {
    close(): Promise<void> {
      // What is still read from keeps the process.
      input.unpipe(lines).pause();
      return close();
    },
  });

  function tooLarge({ id, hasMethod }: Heading, bytes: number): void {
    log.warn('stdio.too_large', { bytes, limit: mostMessageBytes, answered: id !== null });
    if (id === null) return;
    const failure = {
      jsonrpc: '2.0',
      id,
      error: { code: ProtocolErrorCode.InvalidRequest, message },
    } as const;
    // Who asked is told that no answer will come: the client, or, where it was the client's answer, we ourselves.
    if (!hasMethod) transport.onmessage?.(failure);
    else transport.send(failure).catch((error: unknown) => log.warn('stdio.error', { error }));
  }
}

const message =
  `A message over stdio may have ${mostMessageBytes} bytes, and this one had more. ` +
  'Send less at once; files go by request_upload, or by read_client_file with via: "upload".';

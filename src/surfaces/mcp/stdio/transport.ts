/**
 * MCP over stdin and stdout, with a limit for each message and backpressure: while the client does not read, no more
 * messages are taken. It does not know tools or callers (`surfaces/mcp/server.ts` does).
 */
import { Transform, type Readable, type Writable } from 'node:stream';
import { ProtocolErrorCode, type Transport } from '@modelcontextprotocol/server';
import type { Log } from '../../../platform/observability/log.ts';
import { formatBytes } from '../../../platform/text/text.ts';
import {
  createHeadingReader,
  isMisread,
  readStdioMessage,
  type MessageHeading,
  type Misread,
} from './requests.ts';

/** The size of the largest input of a tool if each of its characters were escaped (client-files/cache/tools.ts). */
const maxStdioMessageBytes = 32 * 1024 * 1024;

export interface StdioOptions {
  readonly input: Readable;
  readonly output: Writable;
  readonly log: Log;
}

/**
 * MCP on two streams. A message that is too large or invalid is answered with an error, and the connection continues;
 * the transport of the SDK closes it for the former, and ignores the latter. Backpressure: while the client does not
 * read its answers, no more requests are answered.
 */
export function createStdioTransport({ input, output, log }: StdioOptions): Transport {
  const lines = createLineSplitter({ mostBytes: maxStdioMessageBytes, tooLarge });
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
      // A stream that is still being read keeps the process alive.
      input.unpipe(lines).pause();
      transport.onclose?.();
    },
  };
  return transport;

  /** Resolves once the output can take more. */
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
    const read = isClosed ? null : readStdioMessage(line);
    if (read === null) return;
    if (isMisread(read)) misread(read, line.length);
    else transport.onmessage?.(read);
  }

  function failed(error: Error): void {
    if (isClosed) return;
    transport.onerror?.(error);
    void transport.close();
  }

  function tooLarge(heading: MessageHeading, bytes: number): void {
    log.warn('stdio.too_large', { bytes, limit: maxStdioMessageBytes, answered: heading.id !== null });
    if (heading.id !== null) refuse(heading, ProtocolErrorCode.InvalidRequest, messageTooLarge);
  }

  function misread({ code, why, ...heading }: Misread, bytes: number): void {
    log.warn('stdio.misread', { bytes, code });
    refuse(heading, code, why);
  }

  /**
   * Answers the sender of a request with an error. If the message was itself an answer, our own request is ended with
   * the error.
   */
  function refuse({ id, hasMethod }: MessageHeading, code: ProtocolErrorCode, message: string): void {
    const failure = { jsonrpc: '2.0', id, error: { code, message } } as const;
    if (!hasMethod && id !== null) transport.onmessage?.({ ...failure, id });
    else write(failure).catch((error: unknown) => log.warn('stdio.error', { error }));
  }
}

const messageTooLarge =
  `A message over stdio may have at most ${formatBytes(maxStdioMessageBytes)}, and this one had more. ` +
  'Send less at once; send files with request_upload, or read_client_file with via: "upload".';

export interface LinesOptions {
  /** The longest line that is passed on. */
  readonly mostBytes: number;
  /** Called for each line that is longer, once it has ended. */
  readonly tooLarge: (heading: MessageHeading, bytes: number) => void;
}

const newlineByte = 0x0a;
/** How much to read ahead while lines are not taken, so that the end of the input is noticed. */
const readAheadBytes = 1024 * 1024;

/**
 * Passes on whole lines, each in one piece, and drops those that are too long: no more than one line is kept in memory,
 * and a line that cannot be read does not end the connection.
 */
export function createLineSplitter({ mostBytes, tooLarge }: LinesOptions): Transform {
  let pieces: Buffer[] = [];
  let bytes = 0;
  let dropped: ReturnType<typeof createHeadingReader> | null = null;

  function add(piece: Buffer): void {
    bytes += piece.length;
    if (dropped === null) pieces.push(piece);
    else dropped.push(piece);
    if (dropped !== null || bytes <= mostBytes) return;
    dropped = createHeadingReader();
    pieces.forEach(dropped.push);
    pieces = [];
  }

  function end(): Buffer | null {
    const line = dropped === null ? Buffer.concat(pieces) : null;
    if (dropped !== null) tooLarge(dropped.heading(), bytes);
    pieces = [];
    bytes = 0;
    dropped = null;
    return line;
  }

  return new Transform({
    readableHighWaterMark: readAheadBytes,
    transform(chunk: Buffer, _encoding, done) {
      for (let from = 0; from < chunk.length;) {
        const at = chunk.indexOf(newlineByte, from);
        const to = at === -1 ? chunk.length : at + 1;
        add(chunk.subarray(from, to));
        from = to;
        const line = at === -1 ? null : end();
        if (line !== null) this.push(line);
      }
      done();
    },
  });
}

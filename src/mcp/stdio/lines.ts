import { Transform } from 'node:stream';
import { createHeadingReader, type Heading } from './heading.ts';

export interface LinesOptions {
  /** The longest line that is passed on. */
  readonly mostBytes: number;
  /** Told of each that is longer, once it has ended. */
  readonly tooLarge: (heading: Heading, bytes: number) => void;
}

const newline = 0x0a;
/** Read on while lines are not taken, so that the end of what comes is seen behind them. */
const readAheadBytes = 1024 * 1024;

/**
 * Passes whole lines on, each in one piece, and drops those that are too long: a line is all that is held of what
 * comes, and one that cannot be read does not end the connection.
 */
export function boundedLines({ mostBytes, tooLarge }: LinesOptions): Transform {
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
        const at = chunk.indexOf(newline, from);
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

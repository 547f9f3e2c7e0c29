/** Nothing that the supervisor says at the end is longer. */
const mostBytes = 1024;

export interface TrailerReader {
  /** What of the piece belongs to the run. */
  take(piece: Buffer): Buffer;
  /** What was held back, once nothing more comes. */
  rest(): Buffer;
  /** What came after the mark, up to the end of its line, or null while that has not come. */
  readonly said: string | null;
}

/**
 * Finds what the supervisor adds to an output when the run is over: a mark that the run cannot know, and a
 * line. Only bytes that could be the beginning of the mark are held back, so output streams on.
 */
export function trailerReader(mark: Buffer): TrailerReader {
  let held = Buffer.alloc(0);
  let after: Buffer | null = null;
  return {
    take(piece) {
      const bytes = held.length === 0 ? piece : Buffer.concat([held, piece]);
      if (after !== null) {
        after = Buffer.concat([after, piece]).subarray(0, mostBytes);
        return Buffer.alloc(0);
      }
      const at = bytes.indexOf(mark);
      const end = at >= 0 ? at : bytes.length - beginningLength(bytes, mark);
      held = at >= 0 ? Buffer.alloc(0) : Buffer.from(bytes.subarray(end));
      if (at >= 0) after = Buffer.from(bytes.subarray(at + mark.length, at + mark.length + mostBytes));
      return bytes.subarray(0, end);
    },
    rest: () => held,
    get said() {
      const end = after?.indexOf('\n') ?? -1;
      return end < 0 ? null : after!.toString('utf8', 0, end);
    },
  };
}

/** How many of the last bytes are the first of the mark. */
function beginningLength(bytes: Buffer, mark: Buffer): number {
  for (let length = Math.min(bytes.length, mark.length - 1); length > 0; length--)
    if (bytes.subarray(bytes.length - length).equals(mark.subarray(0, length))) return length;
  return 0;
}
